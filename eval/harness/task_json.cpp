// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <nlohmann/json.hpp>

#include "eval/harness/task_result.h"

namespace cupel::eval {

namespace {

using Json = nlohmann::ordered_json;

Json entry(const TaskResult& r) {
  Json out{{"documents", r.documents}, {"version", r.version}, {"num_fewshot", r.shots}};
  for (const MetricResult& m : r.metrics) {
    out[m.name] = m.value.value;
    out[m.name + "_stderr"] = m.value.error ? Json(*m.value.error) : Json(nullptr);
  }
  if (r.seconds > 0) out["seconds"] = r.seconds;
  for (const TaskResult& g : r.groups) out["groups"][g.task] = entry(g);
  return out;
}

Json sample(const TaskResult& r, const Sample& s) {
  Json out{{"task", r.task}, {"doc_id", s.doc_id}};
  if (!s.group.empty()) out["group"] = s.group;
  out["target"] = s.target;
  if (!s.requests.empty()) {
    out["ll"] = s.log_probs;
    out["greedy"] = s.greedy;
    for (const Request& q : s.requests) {
      out["context_ids"].push_back(q.context);
      out["continuation_ids"].push_back(q.continuation);
    }
  } else {
    out["prompt"] = s.prompt;
    out["reply"] = s.reply;
    out["answers"] = s.answers;
  }
  for (std::size_t i = 0; i < r.metrics.size(); ++i) out[r.metrics[i].name] = s.scores[i];
  if (!s.note.empty()) out["note"] = s.note;
  return out;
}

}  // namespace

std::string task_json(const TaskResult& result) {
  return entry(result).dump();
}

std::string samples_jsonl(const TaskResult& result) {
  std::string out;
  for (const Sample& s : result.samples)
    out += sample(result, s).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return out;
}

}  // namespace cupel::eval
