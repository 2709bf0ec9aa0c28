// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "eval/stats/mcnemar.h"
#include "eval/stats/paired_score.h"
#include "tests/unit/eval/stats_verdict_oracle.h"

namespace cupel::eval {
namespace {

using Values = std::vector<double>;

/// `both`, `lost`, `won` and `neither` documents of right and wrong answers.
PairedScores answers(const std::string& task, int both, int lost, int won, int neither) {
  PairedScores t{task, "acc", {}, {}};
  const auto add = [&](int count, double reference, double model) {
    t.reference.insert(t.reference.end(), static_cast<std::size_t>(count), reference);
    t.model.insert(t.model.end(), static_cast<std::size_t>(count), model);
  };
  add(both, 1, 1);
  add(lost, 1, 0);
  add(won, 0, 1);
  add(neither, 0, 0);
  return t;
}

/// Graded scores: every document loses `loss` give or take `spread`.
PairedScores graded(int documents, double loss, double spread) {
  PairedScores t{"graded", "mass", {}, {}};
  for (int i = 0; i < documents; ++i) {
    t.reference.push_back(0.5 + 0.01 * (i % 7));
    t.model.push_back(t.reference.back() - loss + spread * std::sin(i * 1.7));
  }
  return t;
}

TaskVerdict alone(const PairedScores& t, double margin = 0.01) {
  return judge_tasks({t}, {margin, 0.95, 4000, 1})[0];
}

TEST(PairedScore, EqualsANumericalMaximum) {
  for (const auto& v : test::oracle::paired_score_values) {
    SCOPED_TRACE(cat(v.n, ", ", v.reference_only, ", ", v.model_only));
    const PairCounts counts{0, v.reference_only, v.model_only,
                            v.n - v.reference_only - v.model_only};
    const Interval interval = paired_loss_interval(counts, v.confidence);
    EXPECT_NEAR(interval.low, v.low, 1e-6);
    EXPECT_NEAR(interval.high, v.high, 1e-6);
    EXPECT_NEAR(paired_score_z(counts, 0.01), v.z_at_margin, 1e-5);
  }
}

TEST(PairedScore, WithoutALossIsMcnemarsStatistic) {
  EXPECT_DOUBLE_EQ(paired_score_z({10, 12, 5, 3}, 0), 7 / std::sqrt(17.0));
  EXPECT_EQ(paired_score_z({10, 0, 0, 3}, 0), 0);
  EXPECT_EQ(paired_loss_interval({0, 9, 0, 0}, 0.95).high, 1);
  EXPECT_THROW(paired_loss_interval({}, 0.95), Error);
}

TEST(Verdict, EachInItsWords) {
  EXPECT_EQ(alone(answers("t", 3000, 10, 12, 2000)).text, "no loss larger than 1 point at 95 %");
  EXPECT_EQ(alone(answers("t", 600, 40, 17, 343)).text, "loses 2.3 points (95 %: 0.8 to 3.9)");
  EXPECT_EQ(alone(answers("t", 600, 17, 40, 343)).text, "gains 2.3 points (95 %: 0.8 to 3.9)");
  EXPECT_EQ(alone(answers("t", 12000, 60, 20, 7920)).text,
            "loses 0.2 points (95 %: 0.1 to 0.3), less than 1 point");
  EXPECT_EQ(
      alone(answers("t", 150, 12, 9, 129)).text,
      "not decided: 300 documents can't tell a loss of 1 point (interval at 95 %: -2.2 to 4.3 "
      "points); about 5600 would, if the difference stays as it is");
}

TEST(Verdict, NamesOfTheEnumeration) {
  EXPECT_EQ(alone(answers("t", 3000, 10, 12, 2000)).verdict, Verdict::no_loss);
  EXPECT_EQ(alone(answers("t", 600, 40, 17, 343)).verdict, Verdict::loss);
  EXPECT_EQ(alone(answers("t", 600, 17, 40, 343)).verdict, Verdict::gain);
  EXPECT_EQ(alone(answers("t", 12000, 60, 20, 7920)).verdict, Verdict::small_loss);
  EXPECT_EQ(verdict_name(alone(answers("t", 150, 12, 9, 129)).verdict), "not decided");
}

TEST(Verdict, IdenticalAnswersOnFewDocumentsProveLittle) {
  const TaskVerdict few = alone(answers("t", 150, 0, 0, 150));
  EXPECT_EQ(few.verdict, Verdict::undecided);
  EXPECT_NEAR(few.interval.high, 0.012643, 1e-6);
  EXPECT_EQ(few.documents_needed, 381);
  EXPECT_EQ(alone(answers("t", 191, 0, 0, 190)).verdict, Verdict::no_loss);
  EXPECT_EQ(alone(answers("t", 190, 0, 0, 190)).verdict, Verdict::undecided);
}

TEST(Verdict, NeededDocumentsDecide) {
  const TaskVerdict v = alone(answers("t", 150, 12, 9, 129));
  const int scale = static_cast<int>(v.documents_needed / 300) + 1;
  // (1.960 + 0.842)^2 (0.07 - 0.01^2) 300 / 299 / 0.01^2
  EXPECT_EQ(v.documents_needed, 5505);
  EXPECT_NE(alone(answers("t", 150 * scale, 12 * scale, 9 * scale, 129 * scale)).verdict,
            Verdict::undecided);
}

TEST(Verdict, GradedScoresByBootstrap) {
  const TaskVerdict lost = alone(graded(200, 0.03, 0.1));
  EXPECT_EQ(lost.method, PairedMethod::bootstrap);
  EXPECT_EQ(lost.verdict, Verdict::loss);
  EXPECT_NEAR(lost.loss, 0.03, 0.001);
  const double half = 1.96 * 0.1 / std::sqrt(2 * 200.0);
  EXPECT_NEAR(lost.interval.low, lost.loss - half, 0.1 * half);
  EXPECT_NEAR(lost.interval.high, lost.loss + half, 0.1 * half);
  EXPECT_EQ(alone(graded(200, 0, 0.01)).verdict, Verdict::no_loss);
  EXPECT_EQ(alone(graded(200, 0.004, 0.02)).verdict, Verdict::small_loss);
  EXPECT_EQ(alone(graded(200, -0.03, 0.1)).verdict, Verdict::gain);
  EXPECT_EQ(alone(graded(60, 0.005, 0.1)).verdict, Verdict::undecided);
}

TEST(Verdict, FewChangesOfGradedScoresByExactBounds) {
  PairedScores t = graded(300, 0, 0);
  TaskVerdict v = alone(t);
  EXPECT_EQ(v.method, PairedMethod::sign);
  EXPECT_EQ(v.verdict, Verdict::undecided);
  EXPECT_NEAR(v.interval.high, 1 - std::pow(0.025, 1 / 300.0), 1e-12);
  EXPECT_EQ(v.documents_needed, 368);
  EXPECT_EQ(alone(graded(368, 0, 0)).verdict, Verdict::no_loss);
  EXPECT_EQ(alone(graded(367, 0, 0)).verdict, Verdict::undecided);
  t.range = 0.1;  // no document can lose more than a tenth
  EXPECT_EQ(alone(t).verdict, Verdict::no_loss);
  for (std::size_t i = 0; i < 15; ++i) t.model[i] -= 0.01;
  v = alone(t);
  EXPECT_EQ(v.worse, 15);
  EXPECT_EQ(v.verdict, Verdict::small_loss);
  EXPECT_NEAR(v.p_difference, std::pow(0.5, 14), 1e-12);
}

TEST(Verdict, HolmOverTasks) {
  const PairedScores borderline = answers("a", 600, 40, 23, 337);
  EXPECT_LT(alone(borderline).p_difference, 0.05);
  EXPECT_EQ(alone(borderline).verdict, Verdict::loss);
  const auto together =
      judge_tasks({borderline, answers("b", 600, 30, 31, 339), answers("c", 600, 90, 10, 300)}, {});
  EXPECT_NEAR(together[0].p_difference_holm, 2 * together[0].p_difference, 1e-15);
  EXPECT_EQ(together[0].verdict, Verdict::undecided);
  EXPECT_EQ(together[1].verdict, Verdict::undecided);
  EXPECT_EQ(together[2].verdict, Verdict::loss);
  EXPECT_EQ(verdict_summary(together), "points lost: c (8.0); not decided: a, b");
}

TEST(Verdict, SummaryOfSeveral) {
  const VerdictOptions options;
  const auto sentence = [&](const std::vector<PairedScores>& tasks) {
    return verdict_summary(judge_tasks(tasks, options), options);
  };
  const PairedScores same = answers("same", 3000, 10, 12, 2000);
  EXPECT_EQ(sentence({}), "no task was compared");
  EXPECT_EQ(sentence({same}), "no loss larger than 1 point at 95 %");
  EXPECT_EQ(sentence({same, same}), "no loss larger than 1 point at 95 % on any of 2 tasks");
  EXPECT_EQ(sentence({same, answers("b", 600, 10, 90, 300), answers("c", 600, 90, 10, 300),
                      answers("d", 100, 5, 5, 90)}),
            "no loss larger than 1 point at 95 % on 2 of 4 tasks; points lost: c (8.0); points "
            "gained: b (8.0); not decided: d");
}

TEST(Verdict, MarginInItsOwnWords) {
  const PairedScores t = answers("t", 30000, 100, 120, 20000);
  EXPECT_EQ(judge_tasks({t}, {0.005, 0.99})[0].text, "no loss larger than 0.5 points at 99 %");
  EXPECT_EQ(judge_tasks({t}, {0.07, 0.999})[0].text, "no loss larger than 7 points at 99.9 %");
}

TEST(Verdict, AMarginBeyondReach) {
  EXPECT_EQ(alone(answers("t", 150, 10, 10, 130), 1e-12).documents_needed, 1'000'000'000'000'000);
  EXPECT_EQ(alone(answers("t", 1, 0, 0, 1), 5).verdict, Verdict::no_loss);  // more than can be lost
}

TEST(Verdict, BadInputNamesTheTask) {
  PairedScores t = answers("arc_easy", 5, 1, 0, 4);
  t.model[3] = std::nan("");
  try {
    judge_tasks({t});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::data);
    EXPECT_NE(std::string(e.what()).find("document 3"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("acc of arc_easy"), std::string::npos) << e.what();
  }
  t.model.pop_back();
  EXPECT_THROW(judge_tasks({t}), Error);
  EXPECT_THROW(judge_tasks({answers("one", 1, 0, 0, 0)}), Error);
  EXPECT_THROW(judge_tasks({answers("t", 5, 5, 5, 5)}, {0, 0.95}), Error);
  EXPECT_THROW(judge_tasks({answers("t", 5, 5, 5, 5)}, {0.01, 95}), Error);
}

}  // namespace
}  // namespace cupel::eval
