// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// IFEval: keywords, letters, lengths, case and language.
#include <algorithm>

#include "base/cat.h"
#include "eval/answers/ifeval_checks.h"
#include "eval/answers/python_regex.h"
#include "eval/answers/python_text.h"
#include "eval/answers/word_tokens.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

using Arguments = IfevalArguments;
using Models = IfevalModels;
using Regexes = std::vector<PythonRegex>;

IfevalCheck compared(bool at_least, std::size_t bound,
                     std::function<std::size_t(const std::string&)> count) {
  return [=](const std::string& reply) {
    return at_least ? count(reply) >= bound : count(reply) < bound;
  };
}

// The keywords are patterns, as in lm-eval.
std::shared_ptr<Regexes> patterns(const std::vector<std::string>& words, const char* around) {
  auto out = std::make_shared<Regexes>();
  for (const auto& word : words)
    out->emplace_back(cat(around, word, around), PythonRegex::ignore_case);
  return out;
}

IfevalCheck existence(Arguments& a, const Models&) {
  const auto words = patterns(a.texts("keywords"), "");
  return [words](const std::string& reply) {
    return std::all_of(words->begin(), words->end(),
                       [&](const PythonRegex& word) { return word.search(reply); });
  };
}

IfevalCheck forbidden_words(Arguments& a, const Models&) {
  const auto words = patterns(a.texts("forbidden_words"), "\\b");
  return [words](const std::string& reply) {
    return std::none_of(words->begin(), words->end(),
                        [&](const PythonRegex& word) { return word.search(reply); });
  };
}

IfevalCheck keyword_frequency(Arguments& a, const Models&) {
  const auto word = patterns({std::string(strip(a.text("keyword")))}, "");
  return compared(a.at_least("relation"), a.count("frequency"),
                  [word](const std::string& reply) { return word->front().count(reply); });
}

IfevalCheck letter_frequency(Arguments& a, const Models&) {
  const std::string letter = lower_text(a.text("letter"));
  std::size_t at = 0;
  const char32_t c = text::utf8_next(letter, at);
  if (at != letter.size()) a.refuse(cat("'letter' must be one character, not '", letter, "'"));
  if (c < 'a' || c > 'z')
    a.note = cat("'", letter, "' is counted; lm-eval counts a letter drawn at random instead");
  return compared(a.at_least("let_relation"), a.count("let_frequency"),
                  [letter](const std::string& reply) {
                    return split_at(lower_text(reply), letter).size() - 1;
                  });
}

IfevalCheck number_words(Arguments& a, const Models&) {
  return compared(a.at_least("relation"), a.count("num_words"),
                  [](const std::string& reply) { return count_words(reply); });
}

IfevalCheck number_sentences(Arguments& a, const Models& m) {
  if (!m.exact_sentences) a.note = "sentences are split by the small built-in model of English";
  return compared(a.at_least("relation"), a.count("num_sentences"),
                  [&m](const std::string& reply) { return m.sentences.split(reply).size(); });
}

IfevalCheck capital_words(Arguments& a, const Models& m) {
  return compared(
      a.at_least("capital_relation"), a.count("capital_frequency"), [&m](const std::string& reply) {
        const auto words = treebank_words(reply, m.sentences);
        return static_cast<std::size_t>(std::count_if(words.begin(), words.end(), is_upper_text));
      });
}

IfevalCheck number_paragraphs(Arguments& a, const Models&) {
  const auto divider = std::make_shared<PythonRegex>("\\s?\\*\\*\\*\\s?");
  return [divider, wanted = a.count("num_paragraphs")](const std::string& reply) {
    const auto parts = divider->split(reply);
    std::size_t count = parts.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!strip(parts[i]).empty()) continue;
      if (i != 0 && i + 1 != parts.size()) return false;
      --count;
    }
    return count == wanted;
  };
}

// The first word of a paragraph up to punctuation, in lower case.
std::string first_word_of(std::string_view paragraph) {
  std::string_view word = split_spaces(paragraph).front();
  for (const char quote : {'\'', '"'})
    while (word.starts_with(quote)) word.remove_prefix(1);
  std::string out;
  for (std::size_t at = 0; at < word.size();) {
    const char32_t c = text::utf8_next(word, at);
    if (c < 0x80 &&
        std::string_view(".,?!'\"").find(static_cast<char>(c)) != std::string_view::npos)
      break;
    text::append_lower(out, c);
  }
  return out;
}

IfevalCheck paragraph_first_word(Arguments& a, const Models&) {
  const std::size_t wanted = a.count("num_paragraphs"), nth = a.count("nth_paragraph");
  if (nth > wanted) a.refuse("'nth_paragraph' is beyond 'num_paragraphs'");
  return [=, first = lower_text(a.text("first_word"))](const std::string& reply) {
    const auto parts = split_at(reply, "\n\n");
    const auto count = static_cast<std::size_t>(std::count_if(
        parts.begin(), parts.end(), [](std::string_view p) { return !strip(p).empty(); }));
    if (nth > count) return false;
    const auto paragraph = strip(parts[nth - 1]);
    return !paragraph.empty() && count == wanted && first_word_of(paragraph) == first;
  };
}

std::string language_note(const Models& m) {
  return m.exact_languages
             ? ""
             : cat("the language is decided by ", m.languages.name(), ", not by langdetect");
}

// A text without features counts as followed, as in lm-eval.
bool is_language(const Models& m, const std::string& reply, const std::string& code) {
  const std::string found = m.languages.detect(reply);
  return found.empty() || found == code;
}

IfevalCheck response_language(Arguments& a, const Models& m) {
  a.note = language_note(m);
  return [&m, code = a.text("language")](const std::string& reply) {
    return is_language(m, reply, code);
  };
}

IfevalCheck english_capital(Arguments& a, const Models& m) {
  a.note = language_note(m);
  return [&m](const std::string& reply) {
    return is_upper_text(reply) && is_language(m, reply, "en");
  };
}

IfevalCheck english_lowercase(Arguments& a, const Models& m) {
  a.note = language_note(m);
  return [&m](const std::string& reply) {
    return is_lower_text(reply) && is_language(m, reply, "en");
  };
}

}  // namespace

const std::map<std::string, IfevalMaker>& ifeval_word_checks() {
  static const std::map<std::string, IfevalMaker> makers = {
      {"keywords:existence", existence},
      {"keywords:frequency", keyword_frequency},
      {"keywords:forbidden_words", forbidden_words},
      {"keywords:letter_frequency", letter_frequency},
      {"language:response_language", response_language},
      {"length_constraints:number_sentences", number_sentences},
      {"length_constraints:number_paragraphs", number_paragraphs},
      {"length_constraints:number_words", number_words},
      {"length_constraints:nth_paragraph_first_word", paragraph_first_word},
      {"change_case:capital_word_frequency", capital_words},
      {"change_case:english_capital", english_capital},
      {"change_case:english_lowercase", english_lowercase},
  };
  return makers;
}

}  // namespace cupel::eval
