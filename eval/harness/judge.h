// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eval/harness/prompt.h"
#include "eval/harness/run_task.h"
#include "eval/harness/summarize.h"

namespace cupel::eval {

/// What a judge found in the replies to one row.
struct Judgement {
  std::vector<double> scores;        ///< one a rule
  std::vector<std::string> answers;  ///< what was compared, one a rule
  double parts = 1;                  ///< things judged, for pooled means
  std::string note;
};

/// Turns replies into scores.
class Judge {
 public:
  virtual ~Judge() = default;
  virtual std::vector<Rule> rules() const = 0;
  virtual Judgement judge(const Row& row, const Question& question,
                          const std::vector<std::string>& replies) const = 0;
};

/// The judge of a generation task, by its metrics: exact_match (with the task's filters), IFEval's
/// four, or pass@k (Fault::user without allow_code_execution).
std::unique_ptr<Judge> make_judge(const Task& task, const TaskOptions& options);

}  // namespace cupel::eval
