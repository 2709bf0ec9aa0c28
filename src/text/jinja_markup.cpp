// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/jinja_markup.h"

#include <algorithm>

#include "text/jinja_operators.h"

namespace cupel::text::jinja {
namespace {

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&#34;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

Value escaped_argument(const Value& v) {
  return v.is_numeric() || v.is_markup() ? v : Value(Markup{markup_of(v)});
}

}  // namespace

std::string escaped(const std::string& s) {
  std::size_t size = 0;
  for (const char c : s) size += std::max<std::size_t>(entity(c).size(), 1);
  check_size(static_cast<double>(size));
  spend(size / 16);
  std::string out;
  out.reserve(size);
  for (const char c : s) {
    const std::string_view with = entity(c);
    if (with.empty())
      out += c;
    else
      out += with;
  }
  return out;
}

std::string markup_of(const Value& v) {
  return v.is_markup() ? v.as_string() : escaped(to_text(v));
}

Value marked_like(const Value& like, std::string text) {
  return like.is_markup() ? Value(Markup{std::move(text)}) : Value(std::move(text));
}

Value marked(const Value& result) {
  if (result.is_string()) return Markup{result.as_string()};
  if (!result.is_list()) return result;
  List out = result.as_list();
  for (Value& item : out.items) item = marked(item);
  return out;
}

Value escaped_items(const Value& v) {
  List out;
  for (const Value& item : iterate(v)) out.items.emplace_back(Markup{markup_of(item)});
  return out;
}

Value escaped_arguments(const Value& v) {
  if (v.is_list() && v.as_list().flavor == Flavor::tuple) {
    List out = v.as_list();
    for (Value& item : out.items) item = escaped_argument(item);
    return out;
  }
  if (!v.is_dict()) return escaped_argument(v);
  Dict out = v.as_dict();
  for (auto& [key, value] : out.items) value = escaped_argument(value);
  return out;
}

}  // namespace cupel::text::jinja
