// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <span>

namespace cupel::eval {

enum class Script {
  latin,
  cyrillic,
  arabic,
  devanagari,
  greek,
  hebrew,
  bengali,
  gurmukhi,
  gujarati,
  tamil,
  telugu,
  kannada,
  malayalam,
  thai,
  hangul,
  kana,
  han,
  none
};

/// How one language of a script is told from the others.
struct LanguageWords {
  const char* code;  ///< ISO 639-1
  Script script;
  const char* words;    ///< frequent short words, in lower case, separated by blanks
  const char* letters;  ///< letters that hint at it, in lower case; "" if it has none of its own
};

/// The languages that share a script; where nothing decides, the first of a script is it.
std::span<const LanguageWords> language_words();

}  // namespace cupel::eval
