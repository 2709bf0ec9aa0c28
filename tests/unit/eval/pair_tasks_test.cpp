// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/pair_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace cupel::eval {
namespace {

using Values = std::vector<double>;

TaskResult task(const std::string& name, const std::vector<std::string>& metrics,
                const std::vector<Values>& scores) {
  TaskResult t;
  t.task = name;
  for (const std::string& m : metrics) t.metrics.push_back({m, {}, m != "perplexity"});
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Sample s;
    s.doc_id = static_cast<int64_t>(i);
    s.scores = scores[i];
    t.samples.push_back(s);
  }
  return t;
}

std::string message_of(const TaskResult& reference, const TaskResult& model) {
  try {
    pair_tasks({reference}, {model});
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    return e.what();
  }
  return "";
}

TEST(PairTasks, RowsMeetByTheirNumber) {
  const TaskResult before = task("piqa", {"acc", "acc_norm"}, {{1, 0}, {0, 1}, {1, 1}});
  TaskResult after = task("piqa", {"acc", "acc_norm"}, {{1, 1}, {0, 0}, {1, 0}});
  std::reverse(after.samples.begin(), after.samples.end());
  const auto pairs = pair_tasks({before}, {task("copa", {"acc"}, {{1}}), after});
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].task, "piqa");
  EXPECT_EQ(pairs[0].metric, "acc_norm");
  EXPECT_EQ(pairs[0].reference, (Values{0, 1, 1}));
  EXPECT_EQ(pairs[0].model, (Values{1, 0, 0}));
}

TEST(PairTasks, RowsOfGroupsKeepApart) {
  TaskResult before = task("mmlu", {"acc"}, {{1}, {0}});
  before.samples[0].group = "a";
  before.samples[1].group = "b";
  before.samples[1].doc_id = 0;
  TaskResult after = before;
  std::swap(after.samples[0], after.samples[1]);
  EXPECT_EQ(pair_tasks({before}, {after})[0].model, (Values{1, 0}));
}

TEST(PairTasks, MainMetric) {
  const auto metric = [](const TaskResult& t) {
    const auto pairs = pair_tasks({t}, {t});
    return pairs.empty() ? "" : pairs[0].metric;
  };
  EXPECT_EQ(metric(task("t", {"perplexity", "acc"}, {{-1, 1}})), "acc");
  EXPECT_EQ(metric(task("t", {"perplexity", "exact_match"}, {{-1, 1}})), "exact_match");
  EXPECT_EQ(metric(task("t", {"perplexity"}, {{-1}})), "");
}

TEST(PairTasks, RunsThatDoNotCompare) {
  const TaskResult t = task("piqa", {"acc"}, {{1}, {0}});
  TaskResult other = t;
  other.samples.pop_back();
  EXPECT_NE(message_of(t, other).find("2 rows for the reference, 1 for the model"),
            std::string::npos);
  EXPECT_NE(message_of(t, other).find("comparing piqa"), std::string::npos);
  other = t;
  other.samples[1].doc_id = 7;
  EXPECT_NE(message_of(t, other).find("row 1 was asked of the reference"), std::string::npos);
  other = t;
  other.shots = 5;
  EXPECT_NE(message_of(t, other).find("0 shots for the reference, 5"), std::string::npos);
  other = t;
  other.version = 2;
  EXPECT_NE(message_of(t, other).find("version 1"), std::string::npos);
  other = t;
  other.metrics[0].name = "acc_bytes";
  EXPECT_NE(message_of(t, other).find("no metric 'acc'"), std::string::npos);
}

}  // namespace
}  // namespace cupel::eval
