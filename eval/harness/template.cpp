// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/template.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja_library.h"

namespace cupel::eval {

namespace {

using text::jinja::Value;

bool is_path(std::string_view s) {
  const auto letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !s.empty() && letter(s[0]) && std::all_of(s.begin(), s.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.';
  });
}

/// "x" of "{{ x }}", else the text itself.
std::string_view bare(std::string_view s) {
  if (!s.starts_with("{{") || !s.ends_with("}}") || s.size() < 4) return s;
  s = s.substr(2, s.size() - 4);
  const std::size_t first = s.find_first_not_of(' '), last = s.find_last_not_of(' ');
  return first == s.npos ? s : s.substr(first, last + 1 - first);
}

}  // namespace

Field::Field(const std::string& source, Word word) : source_(source), word_(word) {
  const std::string_view inner = bare(source);
  if (is_path(inner)) path_ = inner;
  template_ = std::make_shared<const text::Template>(text::Template::parse_plain(source));
}

Value Field::value(const Row& row) const {
  if (!path_.empty()) {
    if (const Value* v = field(row, path_)) return *v;
    CUPEL_CHECK(word_ == Word::literal && path_ == source_, data, "the row has no column '", path_,
                "'");
  }
  return template_->render(row);
}

std::string Field::text(const Row& row) const {
  return text::jinja::to_text(value(row));
}

std::vector<std::string> Field::list(const Row& row) const {
  const Value v = value(row);
  if (v.is_list()) return texts_of(v);
  const std::string rendered = text::jinja::to_text(v);
  CUPEL_CHECK(rendered.starts_with("["), data, "'", source_, "' gives '", rendered.substr(0, 60),
              "', not a list; a template must give JSON ({{ ... | tojson }})");
  const Row whole = text::jinja::from_json(cat("{\"list\":", rendered, "}"));
  return texts_of(*whole.find("list"));
}

}  // namespace cupel::eval
