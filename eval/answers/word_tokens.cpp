// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/word_tokens.h"

#include "eval/answers/python_regex.h"
#include "eval/answers/python_text.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

struct Rule {
  PythonRegex pattern;
  const char* by;
};

std::vector<Rule> rules(std::initializer_list<std::pair<const char*, const char*>> list) {
  std::vector<Rule> out;
  for (const auto& [pattern, by] : list) out.push_back({PythonRegex(pattern), by});
  return out;
}

// Opening quotation marks, punctuation, brackets and dashes.
const std::vector<Rule>& marks() {
  static const auto list = rules({
      {"([\\xab\\u201c\\u2018\\u201e]|[`]+)", " \\1 "},
      {"^\"", "``"},
      {"(``)", " \\1 "},
      {"([ \\(\\[{<])(\"|'{2})", "\\1 `` "},
      {"(?i)(?<!\\w)(')(?!(?:re|ve|ll|m|t|s|d|n)\\b)(?=\\w)", "\\1 "},
      {"([^\\.])(\\.)([\\]\\)}>\"'\\xbb\\u201d\\u2019 ]*+)\\s*$", "\\1 \\2 \\3 "},
      {"([:,])([^\\d])", " \\1 \\2"},
      {"([:,])$", " \\1 "},
      {"\\.{2,}", " \\g<0> "},
      {"[;@#$%&]", " \\g<0> "},
      {"[\\u2012-\\u2015]", " \\g<0> "},
      {"([^\\.])(\\.)([\\]\\)}>\"']*)\\s*$", "\\1 \\2\\3 "},
      {"[?!]", " \\g<0> "},
      {"([^'])' ", "\\1 ' "},
      {"[*]", " \\g<0> "},
      {"[\\]\\[\\(\\)\\{\\}\\<\\>]", " \\g<0> "},
      {"--", " -- "},
  });
  return list;
}

// Closing quotation marks and clitics, in text with a space around.
const std::vector<Rule>& clitics() {
  static const auto list = rules({
      {"([\\xbb\\u201d\\u2019])", " \\1 "},
      {"''", " '' "},
      {"\"", " '' "},
      {"\\s+", " "},
      {"([^' ])('[sS]|'[mM]|'[dD]|') ", "\\1 \\2 "},
      {"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", "\\1 \\2 "},
      {"(?i)\\b(can)(not)\\b", " \\1 \\2 "},
      {"(?i)\\b(d)('ye)\\b", " \\1 \\2 "},
      {"(?i)\\b(gim)(me)\\b", " \\1 \\2 "},
      {"(?i)\\b(gon)(na)\\b", " \\1 \\2 "},
      {"(?i)\\b(got)(ta)\\b", " \\1 \\2 "},
      {"(?i)\\b(lem)(me)\\b", " \\1 \\2 "},
      {"(?i)\\b(more)('n)\\b", " \\1 \\2 "},
      {"(?i)\\b(wan)(na)(?=\\s)", " \\1 \\2 "},
      {"(?i) ('t)(is)\\b", " \\1 \\2 "},
      {"(?i) ('t)(was)\\b", " \\1 \\2 "},
  });
  return list;
}

// Symbols that look like letters count as letters: circled and squared ones.
bool is_letter_symbol(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

}  // namespace

std::vector<std::string> treebank_words(std::string_view text, const SentenceSplitter& splitter) {
  std::vector<std::string> out;
  for (const auto sentence : splitter.split(text)) {
    std::string s(sentence);
    for (const auto& rule : marks()) s = rule.pattern.replace(s, rule.by);
    s = " " + s + " ";
    for (const auto& rule : clitics()) s = rule.pattern.replace(s, rule.by);
    for (const auto word : split_spaces(s)) out.emplace_back(word);
  }
  return out;
}

std::size_t count_words(std::string_view text) {
  std::size_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = text::utf8_next(text, at);
    const bool word = text::is_word(c) || is_letter_symbol(c);
    words += word && !inside;
    inside = word;
  }
  return words;
}

}  // namespace cupel::eval
