// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <string>

#include "eval/harness/likelihood.h"
#include "eval/harness/prompt.h"
#include "eval/harness/task_result.h"
#include "text/generator.h"

namespace cupel::eval {

struct TaskOptions {
  std::string data;  ///< folder of the data files
  /// First rows only, in file order (of each group); below 1 a share, rounded up; 0 is all.
  double limit = 0;
  PromptOptions prompt;
  bool allow_code_execution = false;  ///< run programs that a model wrote
};

/// What answers: either part may be null; a task that needs it is a Fault::user then.
struct TaskModel {
  LikelihoodModel* likelihood = nullptr;
  text::Generator* generator = nullptr;
  const text::Tokenizer* tokenizer = nullptr;
  int64_t max_length = 0;
};

/// Requests done, and in all.
using TaskProgress = std::function<void(int64_t, int64_t)>;

/// Asks a model every row of a task. Fault::data names the data file and row of what does not fit
/// the task's templates; Fault::user a missing file, an unknown metric or group.
TaskResult run_task(const ChosenTask& chosen, const TaskModel& model, const TaskOptions& options,
                    const TaskProgress& progress = {});

}  // namespace cupel::eval
