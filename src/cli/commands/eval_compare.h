// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

#include "cli/commands/eval_tasks.h"
#include "eval/report_comparison.h"
#include "eval/result.h"

namespace cupel::cli {

/// Verdicts on every model's tasks against the first one's, and the operating point that
/// --redline asks for: candidates by speed where all were measured, else by size, the safest
/// (slowest or largest) first. Nothing for a single model or without tasks.
eval::ReportComparison compare_tasks(const TaskCommand& command,
                                     const std::vector<eval::EvalResult>& results);

/// For a terminal, "" when there is nothing.
std::string comparison_text(const eval::ReportComparison& comparison);
/// The object of one model, or the list of several: each then has its `verdicts`, the first one
/// `redline`.
std::string results_json(const std::vector<eval::EvalResult>& results,
                         const eval::ReportComparison& comparison);

}  // namespace cupel::cli
