// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/judge.h"

#include "base/error.h"
#include "eval/answers/answer.h"
#include "eval/harness/judge_kinds.h"
#include "text/jinja_value.h"

namespace cupel::eval {

namespace {

AnswerRule rule_of(const Task& task) {
  AnswerRule rule{{}, task.match.options};
  for (const FilterParams& f : task.filter_list) {
    FilterPipeline pipeline{f.name, {}};
    for (const FilterStepParams& s : f.filter) pipeline.steps.push_back(s.step);
    rule.filters.push_back(std::move(pipeline));
  }
  return rule;
}

/// exact_match under each of the task's filters.
class AnswerJudge final : public Judge {
 public:
  explicit AnswerJudge(const Task& task) : target_(task.doc_to_target), scorer_(rule_of(task)) {
    for (const FilterParams& f : task.filter_list)
      rules_.push_back({cat("exact_match,", f.name), Aggregation::mean, true});
    if (rules_.empty()) rules_.push_back({"exact_match", Aggregation::mean, true});
  }
  std::vector<Rule> rules() const override { return rules_; }

  Judgement judge(const Row& row, const Question&,
                  const std::vector<std::string>& replies) const override {
    const text::jinja::Value target = target_.value(row);
    const AnswerScore s = scorer_.score(
        replies, target.is_list() ? texts_of(target) : std::vector{text::jinja::to_text(target)});
    Judgement out;
    for (const auto& [name, score] : s.metrics) out.scores.push_back(score);
    for (const auto& [name, answer] : s.extracted) out.answers.push_back(answer);
    out.note = s.note;
    return out;
  }

 private:
  Field target_;
  AnswerScorer scorer_;
  std::vector<Rule> rules_;
};

}  // namespace

std::unique_ptr<Judge> make_judge(const Task& task, const TaskOptions& options) {
  const std::string& first = task.metric_list.at(0);
  if (first == "exact_match" && task.metric_list.size() == 1)
    return std::make_unique<AnswerJudge>(task);
  if (is_ifeval_metric(first)) return make_ifeval_judge(task);
  if (first.starts_with(kPassAt)) return make_code_judge(task, options.allow_code_execution);
  fail(Fault::user, "task '", task.task,
       "': the metrics of a generation task are [exact_match], pass@K or IFEval's four, not '",
       first, "'");
}

}  // namespace cupel::eval
