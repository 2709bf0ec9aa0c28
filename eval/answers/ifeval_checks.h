// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "eval/answers/ifeval.h"
#include "eval/answers/language.h"
#include "eval/answers/punkt.h"

namespace cupel::eval {

/// Whether a reply (valid UTF-8, not blank) follows the instruction.
using IfevalCheck = std::function<bool(const std::string& reply)>;

/// What checks ask of language models of the classic kind.
struct IfevalModels {
  const SentenceSplitter& sentences;
  const LanguageDetector& languages;
  bool exact_sentences, exact_languages;  ///< nltk's and langdetect's own data
};

/// The arguments of one instruction; every getter marks its name as known and fails with
/// Fault::data and the instruction's id if the value is missing or of another type.
class IfevalArguments {
 public:
  explicit IfevalArguments(const IfevalInstruction& instruction) : instruction_(instruction) {}
  std::string text(const std::string& name);
  std::vector<std::string> texts(const std::string& name);
  /// A whole number > 0.
  std::size_t count(const std::string& name);
  /// "less than" (false) or "at least" (true).
  bool at_least(const std::string& name);
  /// Fails if an argument was not asked for.
  void done() const;
  [[noreturn]] void refuse(const std::string& what) const;
  std::string note;  ///< of the verdict

 private:
  const IfevalValue& get(const std::string& name);
  const IfevalInstruction& instruction_;
  std::vector<std::string> known_;
};

using IfevalMaker = IfevalCheck (*)(IfevalArguments&, const IfevalModels&);

/// Makers by instruction id: words, letters, lengths and languages; and formats.
const std::map<std::string, IfevalMaker>& ifeval_word_checks();
const std::map<std::string, IfevalMaker>& ifeval_format_checks();

}  // namespace cupel::eval
