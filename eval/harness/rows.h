// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

#include "eval/harness/run_task.h"

namespace cupel::eval {

/// Rows that belong together: all of a task, or those of one value of `group_by`.
struct RowGroup {
  std::string name;  ///< the value; "" without group_by
  std::vector<Row> rows;
  std::vector<Row> pool;  ///< rows for shots; empty: the group's own
  int64_t used = 0;       ///< the first `used` rows are evaluated
};

/// Reads a task's data and cuts it into groups in order of first appearance.
std::vector<RowGroup> load_rows(const ChosenTask& chosen, const TaskOptions& options);

}  // namespace cupel::eval
