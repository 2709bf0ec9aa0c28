// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <charconv>

#include "base/error.h"
#include "eval/answers/code_score.h"
#include "eval/harness/judge_kinds.h"

namespace cupel::eval {

namespace {

std::size_t k_of(const Task& task, const std::string& metric) {
  std::size_t k = 0;
  const char* end = metric.data() + metric.size();
  const auto parsed = std::from_chars(metric.data() + kPassAt.size(), end, k);
  CUPEL_CHECK(
      metric.starts_with(kPassAt) && parsed.ec == std::errc() && parsed.ptr == end && k >= 1, user,
      "task '", task.task, "': a metric of a code task is pass@K, not '", metric, "'");
  CUPEL_CHECK(static_cast<int64_t>(k) <= task.repeats, user, "task '", task.task, "': ", metric,
              " needs ", k, " generations a row, 'repeats' is ", task.repeats);
  return k;
}

/// pass@k: programs are run in a sandbox.
class CodeJudge final : public Judge {
 public:
  CodeJudge(const Task& task, bool allowed)
      : sandbox_(CodeExecutionPermission::from_option(allowed)) {
    for (const std::string& name : task.metric_list) {
      ks_.push_back(k_of(task, name));
      rules_.push_back({name, Aggregation::mean, true});
    }
  }
  std::vector<Rule> rules() const override { return rules_; }

  Judgement judge(const Row& row, const Question&,
                  const std::vector<std::string>& replies) const override {
    const AnswerScore score = score_code(
        sandbox_, {column(row, "prompt"), column(row, "test"), column(row, "entry_point")}, replies,
        ks_);
    Judgement out;
    for (const auto& [name, value] : score.metrics) out.scores.push_back(value);
    for (const auto& [name, how] : score.extracted) out.answers.push_back(how);
    out.note = score.note;
    return out;
  }

 private:
  static std::string column(const Row& row, const char* name) { return Field(name).text(row); }

  Sandbox sandbox_;
  std::vector<std::size_t> ks_;
  std::vector<Rule> rules_;
};

}  // namespace

std::unique_ptr<Judge> make_code_judge(const Task& task, bool allowed) {
  return std::make_unique<CodeJudge>(task, allowed);
}

}  // namespace cupel::eval
