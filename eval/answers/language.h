// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace cupel::eval {

/// Names the language of a text by its ISO 639-1 code. Immutable, thread-safe.
class LanguageDetector {
 public:
  virtual ~LanguageDetector() = default;
  /// Of valid UTF-8 text; "" if it has nothing to go by (no letters), "unknown" if no language
  /// fits.
  virtual std::string detect(std::string_view text) const = 0;
  /// What decides, for the note of a score.
  virtual std::string name() const = 0;
};

/// The text with a blank for each web and mail address: they tell nothing of its language.
std::string without_addresses(std::string_view text);

/// Decides by script; where languages share one (Latin, Cyrillic, Arabic, Devanagari), by letters
/// that only some of them have and by frequent short words. Knows the 30 languages of IFEval and
/// neighbours of theirs. Not langdetect: short and mixed texts may be judged otherwise.
std::unique_ptr<LanguageDetector> script_language_detector();

/// The algorithm of the Python package langdetect 1.0.9 with seed 0 (Nakatani 2010: naive Bayes
/// over 1- to 3-grams) over its profiles: the folder `langdetect/profiles` of that package, one
/// JSON file a language. Fault::user if there are none, Fault::data for a bad file. Chinese
/// variants are not folded, so zh-cn and zh-tw are less sure.
std::unique_ptr<LanguageDetector> profile_language_detector(const std::string& folder);

}  // namespace cupel::eval
