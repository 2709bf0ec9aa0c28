// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/commands/eval_compare.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "eval/pair_tasks.h"

namespace cupel::cli {

namespace {

using nlohmann::ordered_json;

/// All rows of all tasks of one model, as right (1) or wrong (0).
struct Answers {
  std::vector<double> reference, model;
};

Answers right_answers(const std::vector<eval::PairedScores>& tasks) {
  Answers out;
  for (const eval::PairedScores& t : tasks) {
    for (const auto* scores : {&t.reference, &t.model})
      for (const double s : *scores)
        CUPEL_CHECK(s == 0 || s == 1, user,
                    "--redline needs tasks whose answers are right or wrong; '", t.task,
                    "' scores ", s);
    out.reference.insert(out.reference.end(), t.reference.begin(), t.reference.end());
    out.model.insert(out.model.end(), t.model.begin(), t.model.end());
  }
  return out;
}

eval::RedlineResult choose(const TaskCommand& command, const std::vector<eval::EvalResult>& results,
                           const std::vector<std::vector<eval::PairedScores>>& pairs) {
  const bool timed = std::all_of(results.begin(), results.end(), [](const eval::EvalResult& r) {
    return r.decode_tokens_per_second > 0;
  });
  std::vector<eval::RedlineCandidate> candidates;
  for (std::size_t i = 1; i < results.size(); ++i) {
    const Answers a = right_answers(pairs[i - 1]);
    const double speed =
        timed ? results[i].decode_tokens_per_second : -static_cast<double>(results[i].bytes);
    candidates.push_back(eval::redline_candidate(results[i].model, speed, a.reference, a.model));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.speed < b.speed; });
  return eval::redline(candidates,
                       {.budget = command.redline / 100, .delta = 1 - command.confidence / 100});
}

ordered_json verdict_json(const eval::TaskVerdict& v) {
  return {{"task", v.task},
          {"metric", v.metric},
          {"documents", v.documents},
          {"worse", v.worse},
          {"better", v.better},
          {"reference", v.reference_score},
          {"model", v.model_score},
          {"loss", v.loss},
          {"loss_low", v.interval.low},
          {"loss_high", v.interval.high},
          {"method", eval::paired_method_name(v.method)},
          {"p_difference", v.p_difference},
          {"p_difference_holm", v.p_difference_holm},
          {"p_margin", v.p_margin},
          {"p_margin_holm", v.p_margin_holm},
          {"verdict", eval::verdict_name(v.verdict)},
          {"documents_needed", v.documents_needed},
          {"text", v.text}};
}

ordered_json redline_json(const eval::RedlineResult& r) {
  ordered_json out = {
      {"budget", r.options.budget},
      {"delta", r.options.delta},
      {"control", eval::risk_control_name(r.options.control)},
      {"chosen", r.chosen ? ordered_json(r.rows[*r.chosen].candidate.name) : ordered_json(nullptr)},
      {"text", r.text}};
  for (const eval::RedlineRow& row : r.rows)
    out["candidates"].push_back({{"model", row.candidate.name},
                                 {"prompts", row.candidate.prompts},
                                 {"failures", row.candidate.failures},
                                 {"risk", row.risk},
                                 {"bound", row.bound},
                                 {"p_value", row.p_value},
                                 {"admission", eval::admission_name(row.admission)}});
  return out;
}

}  // namespace

eval::ReportComparison compare_tasks(const TaskCommand& command,
                                     const std::vector<eval::EvalResult>& results) {
  eval::ReportComparison out;
  if (results.size() < 2 || results[0].tasks.empty()) return out;
  const eval::VerdictOptions options{.margin = command.margin / 100,
                                     .confidence = command.confidence / 100};
  std::vector<std::vector<eval::PairedScores>> pairs;
  for (std::size_t i = 1; i < results.size(); ++i) {
    pairs.push_back(eval::pair_tasks(results[0].tasks, results[i].tasks));
    if (pairs.back().empty()) continue;
    out.verdicts.push_back(
        {results[i].model, results[0].model, eval::judge_tasks(pairs.back(), options), options});
  }
  if (command.redline > 0) out.redline = choose(command, results, pairs);
  return out;
}

std::string comparison_text(const eval::ReportComparison& comparison) {
  std::string out;
  for (const eval::ModelVerdicts& m : comparison.verdicts) {
    out += cat("\n", m.model, " against ", m.reference, ":\n");
    for (const eval::TaskVerdict& v : m.tasks) out += cat("  ", v.task, ": ", v.text, "\n");
  }
  if (comparison.redline) out += cat("\n", comparison.redline->text, "\n");
  return out;
}

std::string results_json(const std::vector<eval::EvalResult>& results,
                         const eval::ReportComparison& comparison) {
  if (results.size() == 1) return eval::to_json(results[0]);
  ordered_json out = ordered_json::array();
  for (const eval::EvalResult& r : results) out.push_back(ordered_json::parse(eval::to_json(r)));
  for (const eval::ModelVerdicts& m : comparison.verdicts)
    for (std::size_t i = 1; i < results.size(); ++i) {
      if (results[i].model != m.model) continue;
      out[i]["verdict"] = eval::verdict_summary(m.tasks, m.options);
      for (const eval::TaskVerdict& v : m.tasks) out[i]["verdicts"].push_back(verdict_json(v));
    }
  if (comparison.redline) out[0]["redline"] = redline_json(*comparison.redline);
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace cupel::cli
