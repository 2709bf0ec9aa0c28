// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace cupel {

namespace detail {
inline void append(std::string& out, std::string_view s) {
  out += s;
}
inline void append(std::string& out, const char* s) {
  out += s;
}
inline void append(std::string& out, char c) {
  out += c;
}
// Templates, because a pointer would rather become a bool than a string_view.
template <class T>
requires std::is_same_v<T, bool>
void append(std::string& out, T value) {
  out += value ? "true" : "false";
}
template <class T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> &&
         !std::is_same_v<T, char>) void append(std::string& out, T value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}
}  // namespace detail

/// The parts as text, one after the other: strings, characters, booleans and numbers (shortest form
/// that reads back).
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// `value` with `digits` digits after the point, for people to read.
std::string fixed(double value, int digits);

/// A count of bytes for people: "513 B", "1.50 kB", "94.6 MB".
std::string human_bytes(double bytes);

/// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

/// Names or numbers for people: "a, b, c".
template <class Range>
std::string joined(const Range& values, std::string_view separator = ", ") {
  std::string out;
  bool first = true;
  for (const auto& v : values) {
    if (!first) out += separator;
    detail::append(out, v);
    first = false;
  }
  return out;
}

/// A shape or list for people: "[2, 576]".
template <class Range>
std::string list_text(const Range& values, std::string_view separator = ", ") {
  return cat("[", joined(values, separator), "]");
}

}  // namespace cupel
