// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "eval/answers/answer.h"

namespace cupel::eval {

/// An argument of an instruction; falsy ones (0, "", [], null) are dropped on reading.
using IfevalValue = std::variant<double, std::string, std::vector<std::string>>;

struct IfevalInstruction {
  std::string id;  ///< as "keywords:existence"
  std::map<std::string, IfevalValue> arguments = {};
};

/// One document of IFEval (Zhou et al., "Instruction-Following Evaluation for Large Language
/// Models", 2023).
struct IfevalDocument {
  std::string prompt;
  std::vector<IfevalInstruction> instructions;
};

/// Reads a JSON object with `prompt`, `instruction_id_list` and `kwargs`. Fault::data names what is
/// missing or of another type.
IfevalDocument read_ifeval_document(const std::string& json);

/// Data that makes the verdicts those of lm-eval also where it uses other packages' models; folders
/// or "": then what is built in decides.
struct IfevalOptions {
  std::string sentence_model = "";     ///< nltk's punkt_tab/english
  std::string language_profiles = "";  ///< langdetect's profiles
};

/// Verdicts on one reply, one an instruction.
struct IfevalResult {
  std::vector<bool> strict, loose;
  std::vector<std::string> notes;  ///< why a verdict may differ from lm-eval's, else ""
  bool all_strict() const;
  bool all_loose() const;
  /// The four metrics of one document (instruction level: share of its instructions) and the notes.
  AnswerScore score() const;
};

/// lm-eval 0.4.13's ifeval: the 25 instruction types, judged on the reply (strict) and on its eight
/// variants (loose: first, last or both lines dropped, each also without asterisks). Immutable,
/// thread-safe.
class IfevalScorer {
 public:
  explicit IfevalScorer(const IfevalOptions& options = {});
  IfevalScorer(IfevalScorer&&) noexcept;
  ~IfevalScorer();
  /// Bytes of `reply` that are not UTF-8 become U+FFFD. Fault::data for an unknown instruction, and
  /// for an argument that is missing or out of range: lm-eval draws such at random, so the verdict
  /// would mean nothing.
  IfevalResult score(const IfevalDocument& document, const std::string& reply) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct IfevalSummary {
  double prompt_level_strict_acc = 0, inst_level_strict_acc = 0;
  double prompt_level_loose_acc = 0, inst_level_loose_acc = 0;
  std::size_t documents = 0, instructions = 0;
};

/// Shares of documents with every instruction followed, and of instructions over all documents.
/// No results are Fault::data.
IfevalSummary summarize_ifeval(std::span<const IfevalResult> results);

}  // namespace cupel::eval
