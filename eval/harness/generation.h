// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <vector>

#include "eval/harness/rows.h"
#include "eval/harness/run_task.h"

namespace cupel::eval {

/// A generate_until task: prompts keep their last max_length - max_gen_toks tokens, replies end
/// before the first stop text or at an end token.
TaskResult generations(const ChosenTask& chosen, const std::vector<RowGroup>& groups,
                       const TaskModel& model, const TaskOptions& options,
                       const TaskProgress& progress);

}  // namespace cupel::eval
