// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

#include "eval/harness/task_result.h"

namespace cupel::eval {

/// A metric of a task, whatever its kind.
struct Rule {
  std::string name;
  Aggregation aggregation = Aggregation::mean;
  bool higher_is_better = true;
};

/// Fills `metrics` from the samples' scores (one a rule). With groups, each becomes a result of its
/// own, and the whole is their size-weighted mean.
void summarize(TaskResult& result, const std::vector<Rule>& rules);

}  // namespace cupel::eval
