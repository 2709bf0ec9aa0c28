// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "eval/answers/punkt.h"

namespace cupel::eval {

/// nltk's word_tokenize (version 3.10): sentences, then the Treebank rules (punctuation, quotation
/// marks and clitics apart; a period only at the end of a sentence).
std::vector<std::string> treebank_words(std::string_view text, const SentenceSplitter& splitter);

/// Runs of letters, marks, decimal digits, letter numbers, connectors and joiners: \w+ as nltk 3.10
/// has it. Versions before 3.10 split words of Indic scripts at vowel signs.
std::size_t count_words(std::string_view text);

}  // namespace cupel::eval
