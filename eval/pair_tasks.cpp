// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/pair_tasks.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"

namespace cupel::eval {

namespace {

std::optional<std::size_t> find_metric(const TaskResult& t, const std::string& name) {
  for (std::size_t i = 0; i < t.metrics.size(); ++i)
    if (t.metrics[i].name == name) return i;
  return {};
}

std::optional<std::size_t> main_metric(const TaskResult& t) {
  for (const char* name : {"acc_norm", "acc"})
    if (const auto found = find_metric(t, name)) return found;
  for (std::size_t i = 0; i < t.metrics.size(); ++i)
    if (t.metrics[i].higher_is_better) return i;
  return {};
}

void check_same(const TaskResult& reference, const TaskResult& model) {
  CUPEL_CHECK(reference.version == model.version, user, "version ", reference.version,
              " of the task for the reference, ", model.version, " for the model");
  CUPEL_CHECK(reference.shots == model.shots, user, reference.shots, " shots for the reference, ",
              model.shots, " for the model");
  CUPEL_CHECK(reference.samples.size() == model.samples.size(), user, reference.samples.size(),
              " rows for the reference, ", model.samples.size(),
              " for the model; compare runs with the same limit");
}

std::string row_name(const Sample& s) {
  return s.group.empty() ? cat("row ", s.doc_id) : cat("row ", s.doc_id, " of ", s.group);
}

/// Where the metric of that name lies in the model's rows may differ.
PairedScores paired(const TaskResult& reference, const TaskResult& model, std::size_t metric) {
  check_same(reference, model);
  const std::string& name = reference.metrics[metric].name;
  const auto other = find_metric(model, name);
  CUPEL_CHECK(other, user, "the model's run has no metric '", name, "'");
  std::map<std::pair<std::string, int64_t>, double> scores;
  for (const Sample& s : model.samples) scores[{s.group, s.doc_id}] = s.scores.at(*other);
  PairedScores out{reference.task, name, {}, {}};
  for (const Sample& s : reference.samples) {
    const auto at = scores.find({s.group, s.doc_id});
    CUPEL_CHECK(
        at != scores.end(), user, row_name(s),
        " was asked of the reference and not of the model; compare runs with the same limit");
    out.reference.push_back(s.scores.at(metric));
    out.model.push_back(at->second);
  }
  return out;
}

}  // namespace

std::vector<PairedScores> pair_tasks(const std::vector<TaskResult>& reference,
                                     const std::vector<TaskResult>& model) {
  std::vector<PairedScores> out;
  for (const TaskResult& t : reference) {
    const auto same = std::find_if(model.begin(), model.end(),
                                   [&](const TaskResult& m) { return m.task == t.task; });
    const auto metric = main_metric(t);
    if (same == model.end() || !metric) continue;
    out.push_back(in_frame("comparing " + t.task, [&] { return paired(t, *same, *metric); }));
  }
  return out;
}

}  // namespace cupel::eval
