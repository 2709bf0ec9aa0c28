// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/harness/likelihood.h"
#include "eval/harness/task_result.h"
#include "text/generator.h"

namespace cupel::cli {

/// The options of `cupel eval` that concern tasks.
struct TaskCommand {
  std::vector<std::string> tasks;  ///< names or paths
  std::string data;                ///< folder of the data files
  double limit = 0;                ///< rows (below 1: a share); 0 is all
  std::string samples_file;        ///< one JSON line a row
  std::string cache;               ///< folder of kept answers; "" keeps none
  std::optional<int64_t> num_fewshot;
  bool apply_chat_template = false, fewshot_as_multiturn = false;
  std::string system;
  bool allow_code_execution = false;
  double margin = 1, confidence = 95;  ///< of verdicts on several models: points, percent
  double redline = 0;                  ///< risk in percent that a candidate may have; 0: no choice
};

/// Who is asked. `identity` names everything that answers depend on.
struct Respondent {
  eval::LikelihoodModel* likelihood = nullptr;
  text::Generator* generator = nullptr;
  const text::Tokenizer* tokenizer = nullptr;
  std::string identity;
};

/// Runs every task with progress on standard error. Unknown tasks and missing data are reported
/// before the first is run.
std::vector<eval::TaskResult> run_tasks(const TaskCommand& command, const Respondent& who);

/// Path, sizes and times of change of a model's files: what an answer cache goes by.
std::string file_identity(const std::string& model);

/// Name, version, shots and one line of every task that comes with the program.
std::string task_list();

}  // namespace cupel::cli
