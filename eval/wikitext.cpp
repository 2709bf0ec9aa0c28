// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/wikitext.h"

#include <algorithm>
#include <cctype>

namespace cupel::eval {

namespace {

struct Replacement {
  std::string_view from, to;
};

// Before the brackets, and after them.
constexpr Replacement kSeparators[] = {
    {" @-@ ", "-"}, {" @,@ ", ","}, {" @.@ ", "."}, {" : ", ": "}, {" ; ", "; "},
    {" . ", ". "},  {" ! ", "! "},  {" ? ", "? "},  {" , ", ", "},
};
constexpr Replacement kRest[] = {
    {"= = = =", "===="}, {"= = =", "==="}, {"= =", "=="},  {" \xC2\xB0 ", "\xC2\xB0"},
    {" \n", "\n"},       {"\n ", "\n"},    {" N ", " 1 "}, {" 's", "'s"},
};

/// Every occurrence, from the left, as Python's replace does it.
std::string replaced(std::string_view text, const Replacement& r) {
  std::string out;
  for (std::size_t at; (at = text.find(r.from)) != text.npos;) {
    out.append(text.substr(0, at)).append(r.to);
    text.remove_prefix(at + r.from.size());
  }
  return out.append(text);
}

/// re.sub(r"/' [0-9]/", r"/'[0-9]/", text): the digit is lost for good, lm-eval's replacement is no
/// pattern.
std::string slashes_replaced(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool match = text.substr(at, 3) == "/' " && at + 4 < text.size() && text[at + 3] >= '0' &&
                       text[at + 3] <= '9' && text[at + 4] == '/';
    out += match ? std::string_view("/'[0-9]/") : text.substr(at, 1);
    at += match ? 5 : 1;
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && space_length(text) > 0) text.remove_prefix(space_length(text));
  for (std::size_t size = text.size(); size > 0;) {
    // The start of the last character.
    do --size;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80);
    if (space_length(text.substr(size)) != text.size() - size) break;
    text = text.substr(0, size);
  }
  return text;
}

/// re.sub(r"\(\s*([^\)]*?)\s*\)", r"(\1)", text), for any two delimiters: no white space inside
/// them.
std::string tightened(std::string_view text, char open, char close) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find(open);
    const std::size_t end = begin == text.npos ? text.npos : text.find(close, begin + 1);
    if (end == text.npos) return out.append(text);
    out.append(text.substr(0, begin + 1));
    out.append(trimmed(text.substr(begin + 1, end - begin - 1))) += close;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::size_t space_length(std::string_view text) {
  const auto c = static_cast<unsigned char>(text[0]);
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) ? 1 : 0;
  if (text.starts_with("\xC2\x85") || text.starts_with("\xC2\xA0")) return 2;
  for (const char* wide : {"\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF",
                           "\xE2\x81\x9F", "\xE3\x80\x80"})
    if (text.starts_with(wide)) return 3;
  const bool general = text.starts_with("\xE2\x80") && text.size() > 2;  // U+2000 .. U+200A
  return general && static_cast<unsigned char>(text[2]) - 0x80u <= 0x0A ? 3 : 0;
}

int64_t count_space_separated(std::string_view text) {
  int64_t words = 1;
  for (bool in_space = false; !text.empty();) {
    const std::size_t space = space_length(text);
    words += space > 0 && !in_space;
    in_space = space > 0;
    text.remove_prefix(std::max<std::size_t>(space, 1));
  }
  return words;
}

std::string wikitext_detokenized(std::string page) {
  std::string text = slashes_replaced(replaced(page, {"s '", "s'"}));
  for (const Replacement& r : kSeparators) text = replaced(text, r);
  text = tightened(text, '(', ')');
  text = tightened(text, '[', ']');
  text = tightened(text, '{', '}');
  text = tightened(text, '"', '"');
  text = tightened(text, '\'', '\'');
  for (const Replacement& r : kRest) text = replaced(text, r);
  return text;
}

}  // namespace cupel::eval
