// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "eval/harness/metrics.h"
#include "eval/harness/requests.h"

namespace cupel::eval {

/// One row of a task: what was asked and what came back.
struct Sample {
  int64_t doc_id = 0;  ///< position in the data (in its group)
  std::string group;   ///< value of group_by, "" without
  std::string target;  ///< gold index, or the wanted text
  std::vector<double> log_probs;
  std::vector<bool> greedy;
  std::vector<Request> requests;     ///< the tokens behind log_probs
  std::string prompt, reply;         ///< generation tasks
  std::vector<double> scores;        ///< one a metric of the result
  double parts = 1;                  ///< things that a pooled score counts (IFEval's instructions)
  std::vector<std::string> answers;  ///< what the filters read, one a metric; generation tasks
  std::string note;                  ///< anything odd about the judgement
};

struct MetricResult {
  std::string name;
  MetricValue value;
  bool higher_is_better = true;
};

/// What `cupel eval --tasks` found for one task.
struct TaskResult {
  std::string task;
  int64_t version = 1, shots = 0, documents = 0;
  std::vector<MetricResult> metrics;
  std::vector<TaskResult> groups;  ///< one a value of group_by; their samples lie in the whole
  std::vector<Sample> samples;
  double seconds = 0;
};

/// `{documents, version, num_fewshot, acc, acc_stderr, ...}`: one entry of the `tasks` object of
/// `eval --json`.
std::string task_json(const TaskResult& result);
/// One JSON object a row: task, doc_id, target, ll, greedy, context_ids, continuation_ids (or
/// prompt, reply, answers), and the metrics.
std::string samples_jsonl(const TaskResult& result);

}  // namespace cupel::eval
