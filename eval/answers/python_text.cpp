// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/python_text.h"

#include <algorithm>
#include <iterator>

#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

struct Range {
  char32_t first, last;
};

// Other_Uppercase and Other_Lowercase of Unicode: cased characters whose category is not Lu or Ll.
constexpr Range kOtherUpper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
constexpr Range kOtherLower[] = {
    {0xAA, 0xAA},     {0xBA, 0xBA},     {0x2B0, 0x2B8},   {0x2C0, 0x2C1},   {0x2E0, 0x2E4},
    {0x345, 0x345},   {0x37A, 0x37A},   {0x1D2C, 0x1D6A}, {0x1D78, 0x1D78}, {0x1D9B, 0x1DBF},
    {0x2071, 0x2071}, {0x207F, 0x207F}, {0x2090, 0x209C}, {0x2170, 0x217F}, {0x24D0, 0x24E9},
    {0x2C7C, 0x2C7D}, {0xA69C, 0xA69D}, {0xA770, 0xA770}, {0xA7F8, 0xA7F9}, {0xAB5C, 0xAB5F}};
// Word_Break MidLetter, MidNumLet and Single_Quote: case-ignorable though not marks or modifiers.
constexpr char32_t kMidWord[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,
                                 0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};

template <std::size_t n>
bool in(const Range (&ranges)[n], char32_t c) {
  return std::any_of(ranges, ranges + n, [&](Range r) { return r.first <= c && c <= r.last; });
}

bool is_title(char32_t c) {
  const auto k = text::category(c);
  return k.major == 'L' && k.minor == 't';
}

bool is_cased(char32_t c) {
  return python_upper(c) || python_lower(c) || is_title(c);
}

bool is_case_ignorable(char32_t c) {
  const auto k = text::category(c);
  return (k.major == 'M' && k.minor != 'c') || (k.major == 'C' && k.minor == 'f') ||
         (k.major == 'L' && k.minor == 'm') || (k.major == 'S' && k.minor == 'k') ||
         std::find(std::begin(kMidWord), std::end(kMidWord), c) != std::end(kMidWord);
}

// Whether the capital sigma in [start, end) ends a word.
bool is_final_sigma(std::string_view s, std::size_t start, std::size_t end) {
  bool before = false;
  for (std::size_t at = start; at > 0;) {
    at = text::utf8_before(s, at);
    std::size_t next = at;
    const char32_t c = text::utf8_next(s, next);
    if (is_case_ignorable(c)) continue;
    before = is_cased(c);
    break;
  }
  if (!before) return false;
  while (end < s.size()) {
    const char32_t c = text::utf8_next(s, end);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

// str.isupper: no character of the other case or in title case, and at least one of this.
bool all_of_case(std::string_view s, bool (*wanted)(char32_t), bool (*other)(char32_t)) {
  bool some = false;
  for (std::size_t at = 0; at < s.size();) {
    const char32_t c = text::utf8_next(s, at);
    if (other(c) || is_title(c)) return false;
    some |= wanted(c);
  }
  return some;
}

}  // namespace

bool python_space(char32_t c) {
  return text::is_space(c) || (c >= 0x1C && c <= 0x1F);
}

std::string_view strip(std::string_view s) {
  std::size_t start = 0, end = s.size();
  for (std::size_t next = 0; start < end && python_space(text::utf8_next(s, next));) start = next;
  while (end > start) {
    const std::size_t last = text::utf8_before(s, end);
    std::size_t next = last;
    if (!python_space(text::utf8_next(s, next))) break;
    end = last;
  }
  return s.substr(start, end - start);
}

std::string_view strip_any(std::string_view s, std::string_view chars) {
  const std::size_t start = s.find_first_not_of(chars);
  if (start == std::string_view::npos) return {};
  return s.substr(start, s.find_last_not_of(chars) + 1 - start);
}

std::string lower_text(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t start = at;
    const char32_t c = text::utf8_next(s, at);
    if (c == 0x3A3)
      text::utf8_append(out, is_final_sigma(s, start, at) ? 0x3C2 : 0x3C3);
    else
      text::append_lower(out, c);
  }
  return out;
}

std::vector<std::string_view> split_spaces(std::string_view s) {
  std::vector<std::string_view> out;
  std::size_t word = std::string_view::npos;
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t start = at;
    const bool space = python_space(text::utf8_next(s, at));
    if (space && word != std::string_view::npos) {
      out.push_back(s.substr(word, start - word));
      word = std::string_view::npos;
    } else if (!space && word == std::string_view::npos) {
      word = start;
    }
  }
  if (word != std::string_view::npos) out.push_back(s.substr(word));
  return out;
}

std::vector<std::string_view> split_at(std::string_view s, std::string_view separator) {
  std::vector<std::string_view> out;
  for (std::size_t at = s.find(separator); at != std::string_view::npos; at = s.find(separator)) {
    out.push_back(s.substr(0, at));
    s.remove_prefix(at + separator.size());
  }
  out.push_back(s);
  return out;
}

std::string replace_all(std::string_view s, std::string_view from, std::string_view to) {
  std::string out;
  bool first = true;
  for (const auto part : split_at(s, from)) {
    if (!first) out += to;
    out += part;
    first = false;
  }
  return out;
}

bool python_upper(char32_t c) {
  const auto k = text::category(c);
  return (k.major == 'L' && k.minor == 'u') || in(kOtherUpper, c);
}

bool python_lower(char32_t c) {
  const auto k = text::category(c);
  return (k.major == 'L' && k.minor == 'l') || in(kOtherLower, c);
}

bool is_upper_text(std::string_view s) {
  return all_of_case(s, python_upper, python_lower);
}

bool is_lower_text(std::string_view s) {
  return all_of_case(s, python_lower, python_upper);
}

}  // namespace cupel::eval
