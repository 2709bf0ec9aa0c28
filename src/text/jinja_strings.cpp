// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// What Python's str methods do, by character and not by byte.

#include <algorithm>

#include "text/jinja_library.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::text::jinja {
namespace {

constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2, kSharpS = 0xDF;

bool cased(char32_t c) {
  const Category k = category(c);
  return k.major == 'L' && (k.minor == 'u' || k.minor == 'l' || k.minor == 't');
}

void append_upper(std::string& out, char32_t c) {
  if (c == kSharpS)
    out += "SS";
  else
    utf8_append(out, upper(c));
}

// A sigma that ends a word has a form of its own.
void append_lower_in(std::string& out, std::string_view s, std::size_t start, std::size_t end,
                     char32_t c) {
  std::size_t before = start > 0 ? utf8_before(s, start) : 0, after = end;
  const bool letter_before = start > 0 && cased(utf8_next(s, before));
  const bool letter_after = end < s.size() && cased(utf8_next(s, after));
  if (c == kSigma && letter_before && !letter_after)
    utf8_append(out, kFinalSigma);
  else
    append_lower(out, c);
}

// Python's str.isspace() knows four controls that White_Space lacks.
bool python_space(char32_t c) {
  return is_space(c) || (c >= 0x1C && c <= 0x1F);
}

}  // namespace

std::string upper_text(std::string_view s) {
  std::string out;
  for (std::size_t pos = 0; pos < s.size();) append_upper(out, utf8_next(s, pos));
  return out;
}

std::string lower_text(std::string_view s) {
  std::string out;
  for (std::size_t pos = 0; pos < s.size();) {
    const std::size_t start = pos;
    const char32_t c = utf8_next(s, pos);
    append_lower_in(out, s, start, pos, c);
  }
  return out;
}

std::string capitalize_text(std::string_view s) {
  if (s.empty()) return "";
  std::size_t pos = 0;
  std::string out;
  append_upper(out, utf8_next(s, pos));
  return out + lower_text(s.substr(pos));
}

std::string title_text(std::string_view s) {
  std::string out;
  bool inside = false;
  for (std::size_t pos = 0; pos < s.size();) {
    const std::size_t start = pos;
    const char32_t c = utf8_next(s, pos);
    if (inside)
      append_lower_in(out, s, start, pos, c);
    else
      append_upper(out, c);
    inside = cased(c);
  }
  return out;
}

std::string strip_text(std::string_view s, Side side, const Value& chars) {
  if (!chars.is_none() && !chars.is_string())
    raise("TypeError", "strip arg must be None or str, not ", type_name(chars));
  const std::string* set = chars.is_string() ? &chars.as_string() : nullptr;
  const auto goes = [&](std::string_view character) {
    std::size_t pos = 0;
    return set ? set->find(character) != set->npos : python_space(utf8_next(character, pos));
  };
  if (side != Side::right)
    while (!s.empty() && goes(s.substr(0, utf8_length(s[0])))) s.remove_prefix(utf8_length(s[0]));
  if (side != Side::left)
    while (!s.empty() && goes(s.substr(utf8_before(s, s.size()))))
      s = s.substr(0, utf8_before(s, s.size()));
  return std::string(s);
}

std::string replace_text(std::string_view s, const std::string& from, const std::string& to,
                         int64_t count) {
  std::string out;
  std::size_t at = 0;
  for (; count != 0 && at <= s.size(); --count) {
    const std::size_t found = s.find(from, at);
    if (found == s.npos) break;
    out += s.substr(at, found - at);
    out += to;
    at = found + from.size();
    if (!from.empty()) continue;
    if (at == s.size()) return out;  // an empty text stands before each character and at the end
    const std::size_t n = utf8_length(s[at]);
    out += s.substr(at, n);
    at += n;
  }
  return out += s.substr(std::min(at, s.size()));
}

std::vector<std::string> split_lines(std::string_view s) {
  std::vector<std::string> out;
  std::size_t start = 0;
  for (std::size_t pos = 0; pos < s.size();) {
    const std::size_t at = pos;
    const char32_t c = utf8_next(s, pos);
    const bool ends = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                      c == 0x2028 || c == 0x2029;
    if (!ends) continue;
    out.emplace_back(s.substr(start, at - start));
    if (c == '\r' && pos < s.size() && s[pos] == '\n') ++pos;
    start = pos;
  }
  if (start < s.size()) out.emplace_back(s.substr(start));
  return out;
}

}  // namespace cupel::text::jinja
