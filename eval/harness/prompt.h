// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/harness/task.h"
#include "eval/harness/template.h"
#include "eval/stats/python_random.h"

namespace cupel::eval {

/// How prompts are dressed, by the caller rather than the task.
struct PromptOptions {
  std::optional<int64_t> num_fewshot;    ///< instead of the task's
  const text::Template* chat = nullptr;  ///< render the prompt as a conversation
  bool fewshot_as_multiturn = false;     ///< shots as turns of their own, not in one user turn
  std::string system;                    ///< system instruction
  std::string bos, eos;                  ///< what the chat template is told
};

/// One row, ready to be asked. For multiple_choice there is one (context, continuation) a choice.
struct Question {
  std::vector<std::string> contexts;       ///< one for all choices, or one for each
  std::vector<std::string> continuations;  ///< delimiter and choice; one for all contexts, or each
  std::vector<std::string> choices;        ///< without the delimiter: what lengths count
  int64_t gold = -1;                       ///< index of the right choice; -1 where there is none
  std::string target;                      ///< the wanted text, or the gold index as text
  std::vector<double> labels;
};

/// Prompts of a task, as lm-eval 0.4.13 makes them: description, shots, question, by plain
/// concatenation. Shots are drawn row after row, so rows must be asked for in order.
class PromptBuilder {
 public:
  /// `pool`: rows that shots are taken from; `own`: they are the evaluated rows themselves (then a
  /// row is never its own shot). Both must outlive the builder.
  PromptBuilder(const Task& task, const std::vector<Row>& pool, bool own,
                const PromptOptions& options);
  /// Fault::data names the row and what it lacks.
  Question ask(const Row& row);
  int64_t shots() const { return shots_; }

 private:
  std::vector<const Row*> draw(const Row& row);
  std::vector<const Row*> draw_others(const std::function<bool(const Row&)>& itself);
  std::string answer_of(const Row& row) const;
  std::string question_of(const Row& row) const;
  std::string dress(const Row& row, const std::string& question);
  int64_t gold_of(const Row& row, const std::vector<std::string>& choices) const;

  const Task& task_;
  const std::vector<Row>& pool_;
  bool own_;
  PromptOptions options_;
  int64_t shots_;
  PythonRandom random_;
  Field description_, text_, target_, continuation_, labels_;
  std::vector<Field> choices_, contexts_;
};

}  // namespace cupel::eval
