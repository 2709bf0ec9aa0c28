// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/error.h"
#include "eval/answers/ifeval.h"
#include "eval/harness/judge_kinds.h"
#include "text/jinja_library.h"

namespace cupel::eval {

namespace {

/// IFEval's four metrics, in the order in which the task lists them.
class IfevalJudge final : public Judge {
 public:
  explicit IfevalJudge(const Task& task) {
    for (const std::string& name : task.metric_list) {
      CUPEL_CHECK(is_ifeval_metric(name), user, "task '", task.task, "': '", name,
                  "' is none of IFEval's metrics");
      const bool pooled = name.starts_with("inst_level");
      rules_.push_back({name, pooled ? Aggregation::pooled_mean : Aggregation::mean, true});
    }
  }
  std::vector<Rule> rules() const override { return rules_; }

  Judgement judge(const Row& row, const Question&,
                  const std::vector<std::string>& replies) const override {
    const std::string json = text::jinja::to_json(text::jinja::Value(row), {});
    const IfevalResult result = scorer_.score(read_ifeval_document(json), replies.at(0));
    const AnswerScore score = result.score();
    Judgement out;
    for (const Rule& r : rules_)
      for (const auto& [name, value] : score.metrics)
        if (name == r.name) out.scores.push_back(value);
    CUPEL_ASSERT(out.scores.size() == rules_.size());
    out.parts = static_cast<double>(result.strict.size());
    out.note = score.note;
    return out;
  }

 private:
  std::vector<Rule> rules_;
  IfevalScorer scorer_;
};

}  // namespace

bool is_ifeval_metric(std::string_view name) {
  for (const char* known : {"prompt_level_strict_acc", "inst_level_strict_acc",
                            "prompt_level_loose_acc", "inst_level_loose_acc"})
    if (name == known) return true;
  return false;
}

std::unique_ptr<Judge> make_ifeval_judge(const Task& task) {
  return std::make_unique<IfevalJudge>(task);
}

}  // namespace cupel::eval
