// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"

namespace cupel {

/// A mistake in a YAML document: where, and what. Lines and columns count from 1.
struct Problem {
  int line = 0, column = 0, width = 1;
  std::string message;
};

class Node;
/// A problem with the thing at `node`; a null Node has no place.
Problem problem_at(const Node& node, std::string message);

/// A position in a parsed document; cheap to copy, valid while its Document lives. No YAML type
/// shows.
class Node {
 public:
  struct Impl;
  Node() = default;
  explicit Node(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  explicit operator bool() const { return impl_ != nullptr; }

  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;
  bool is_null() const;
  int line() const;
  int column() const;
  /// How much of the source line to underline, at least 1.
  int width() const;
  /// "a mapping", "a list", "'text'" or "nothing", for messages.
  std::string kind() const;
  /// The text of a scalar.
  const std::string& text() const;
  /// True for a scalar written with quotes: it is a string whatever it looks like.
  bool quoted() const;
  /// Entries of a mapping in the author's order, repeated keys included. Key nodes are scalars.
  const std::vector<std::pair<Node, Node>>& entries() const;
  /// Elements of a list.
  const std::vector<Node>& items() const;
  /// The value of `key` in a mapping, or a null Node.
  Node find(std::string_view key) const;

 private:
  std::shared_ptr<const Impl> impl_;
};

/// A YAML text with its name, so that messages can show file, line, column and the source line with
/// a caret.
class Document {
 public:
  /// Fault::user when the file can't be read or isn't YAML (the message shows the place).
  static Document from_file(const std::string& path);
  static Document from_text(std::string text, std::string name);

  const std::string& name() const { return name_; }
  Node root() const { return root_; }
  /// Replaces or adds one value: `path` is dotted (`steps.0.quant.gptq.layout.uniform.bits`; a list
  /// takes an index, a key that holds dots is matched whole first), `value` is YAML text.
  /// Fault::user names an unknown path.
  void set(std::string_view path, std::string_view value);

  /// Every problem, sorted by place, each with its source line and caret.
  std::string format(std::vector<Problem> problems) const;

 private:
  std::string name_;
  std::vector<std::string> lines_;
  // Lines from here on are those of set(), shown as "--set".
  std::size_t file_lines_ = 0;
  Node root_;
};

/// Reads `params` from a mapping (a null node leaves the defaults): unknown and repeated keys,
/// wrong types, values out of range are appended to `problems`, with "did you mean". Nothing is
/// thrown for the reader's mistakes.
void read_params(Node node, Params& params, std::vector<Problem>& problems);

/// Reads a Choice: `name`, or `{name: {...}}`.
void read_choice(Node node, Choice& choice, std::vector<Problem>& problems);

/// The name of `names` closest to `given`, or "" when none is near.
std::string nearest_name(std::string_view given, const std::vector<std::string>& names);

}  // namespace cupel
