// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

#include "eval/result.h"
#include "eval/table.h"

namespace cupel::eval {

/// One row a task and metric, one column of value and standard error a model; "" without tasks.
std::string task_table(const std::vector<EvalResult>& results);
/// The same as an HTML section with the groups of a task folded away; "" without tasks.
std::string task_section(const std::vector<EvalResult>& results);

}  // namespace cupel::eval
