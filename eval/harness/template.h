// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eval/harness/document.h"
#include "text/chat_template.h"

namespace cupel::eval {

/// A `doc_to_*` entry of a task: the name of a column ("label", "choices.text"; also written
/// "{{label}}"), whose value is taken as it is, or a Jinja template (undefined names are errors).
class Field {
 public:
  Field() = default;
  /// A bare word that is no column: itself (a choice "A"), or an error.
  enum class Word { literal, column };
  /// Fault::data with the line for a template that does not parse.
  explicit Field(const std::string& source, Word word = Word::column);

  bool empty() const { return source_.empty(); }
  /// The column's value, or the rendered text. Fault::data names a column that a row lacks.
  text::jinja::Value value(const Row& row) const;
  /// The same as text.
  std::string text(const Row& row) const;
  /// The same as a list: a column that is one, or a rendered JSON list ("{{ x | tojson }}").
  std::vector<std::string> list(const Row& row) const;

 private:
  std::string source_, path_;
  Word word_ = Word::column;
  std::shared_ptr<const text::Template> template_;
};

}  // namespace cupel::eval
