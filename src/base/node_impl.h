// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/yaml.h"

namespace cupel {

enum class NodeKind { null, scalar, list, map };

/// Never changed once a Node holds it; Document::set copies what lies on its path.
struct Node::Impl {
  NodeKind kind = NodeKind::null;
  std::string text;
  bool quoted = false;
  std::vector<std::pair<Node, Node>> entries;
  std::vector<Node> items;
  // From 1, in characters, not bytes.
  int line = 0, column = 0, width = 1;
};

/// Characters of UTF-8 text.
int count_characters(std::string_view text);

/// Appends the lines of `text` without their ends.
void split_lines(std::string_view text, std::vector<std::string>& lines);

/// Where a YAML text lies: its first character is at byte `first_byte` of lines[first_line].
struct TextPlace {
  const std::vector<std::string>& lines;
  std::size_t first_line = 0, first_byte = 0;
};

/// The tree of `text` in `root`, or the reason why it is not YAML.
std::vector<Problem> parse_yaml(const std::string& text, const TextPlace& place, Node& root);

}  // namespace cupel
