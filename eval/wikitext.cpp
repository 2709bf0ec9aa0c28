// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/wikitext.h"

#include "eval/answers/python_text.h"
#include "text/utf8.h"

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

/// re.sub(r"\(\s*([^\)]*?)\s*\)", r"(\1)", text), for any two delimiters: no white space inside
/// them.
std::string tightened(std::string_view text, char open, char close) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find(open);
    const std::size_t end = begin == text.npos ? text.npos : text.find(close, begin + 1);
    if (end == text.npos) return out.append(text);
    out.append(text.substr(0, begin + 1));
    out.append(strip(text.substr(begin + 1, end - begin - 1))) += close;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

int64_t count_space_separated(std::string_view text) {
  const std::string valid = text::utf8_lossy(text);
  int64_t words = 1;
  bool in_space = false;
  for (std::size_t at = 0; at < valid.size();) {
    const bool space = python_space(text::utf8_next(valid, at));
    words += space && !in_space;
    in_space = space;
  }
  return words;
}

std::string wikitext_detokenized(std::string_view page) {
  std::string text = slashes_replaced(replace_all(page, "s '", "s'"));
  for (const Replacement& r : kSeparators) text = replace_all(text, r.from, r.to);
  text = tightened(text, '(', ')');
  text = tightened(text, '[', ']');
  text = tightened(text, '{', '}');
  text = tightened(text, '"', '"');
  text = tightened(text, '\'', '\'');
  for (const Replacement& r : kRest) text = replace_all(text, r.from, r.to);
  return text;
}

}  // namespace cupel::eval
