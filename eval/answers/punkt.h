// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cupel::eval {

/// What the Punkt splitter (Kiss and Strunk, "Unsupervised Multilingual Sentence Boundary
/// Detection", 2006) knows of a language. Words are in lower case, numbers are "##number##".
struct PunktModel {
  enum Seen : unsigned {
    begin_upper = 2,
    middle_upper = 4,
    unknown_upper = 8,
    begin_lower = 16,
    middle_lower = 32,
    unknown_lower = 64
  };
  std::unordered_set<std::string> abbreviations;  ///< without the last period
  std::unordered_set<std::string> starters;       ///< words that often start a sentence
  std::set<std::pair<std::string, std::string>> collocations;  ///< pairs across a period
  std::unordered_map<std::string, unsigned> seen;              ///< word: bits of Seen
};

/// A small model of English: abbreviations and function words. The decisions are those of nltk's
/// trained one except behind rare abbreviations, initials and numbers.
PunktModel small_english_model();
/// nltk's model: a folder `punkt_tab/<language>` with abbrev_types.txt, collocations.tab,
/// sent_starters.txt and ortho_context.tab.
PunktModel read_punkt_model(const std::string& folder);

/// nltk's PunktSentenceTokenizer (version 3.10). Immutable, thread-safe.
class SentenceSplitter {
 public:
  explicit SentenceSplitter(PunktModel model);
  SentenceSplitter(SentenceSplitter&&) noexcept;
  ~SentenceSplitter();
  /// The sentences of valid UTF-8 text, views of it.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cupel::eval
