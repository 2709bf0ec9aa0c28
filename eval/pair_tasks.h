// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <vector>

#include "eval/harness/task_result.h"
#include "eval/stats/verdict.h"

namespace cupel::eval {

/// Scores of the tasks that both models ran, row by row: one entry a task with its main metric
/// (acc_norm, else acc, else the first where higher is better; a task without one is left out).
/// User errors: the same task with another version, other shots or other rows.
std::vector<PairedScores> pair_tasks(const std::vector<TaskResult>& reference,
                                     const std::vector<TaskResult>& model);

}  // namespace cupel::eval
