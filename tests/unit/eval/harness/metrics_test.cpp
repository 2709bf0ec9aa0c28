// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

Question question(std::vector<std::string> choices, int64_t gold) {
  Question q;
  q.choices = std::move(choices);
  q.gold = gold;
  return q;
}

double score(const char* metric, const Question& q, std::vector<double> ll,
             std::vector<double> unconditional = {}) {
  return find_choice_metric(metric)->score({&q, std::move(ll), {}, std::move(unconditional)});
}

TEST(Metrics, LengthsInCharactersAndBytesDiffer) {
  // harness#3278: acc_norm counts code points, not bytes. 4 characters in 8 bytes against 6 in 6.
  const Question q = question({"\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", "abcdef"}, 1);
  const std::vector<double> ll = {-7, -7.5};
  EXPECT_EQ(score("acc", q, ll), 0);
  EXPECT_EQ(score("acc_norm", q, ll), 1);   // -1.75 against -1.25
  EXPECT_EQ(score("acc_bytes", q, ll), 0);  // -0.875 against -1.25
}

TEST(Metrics, TiesGoToTheLowestIndex) {
  EXPECT_EQ(score("acc", question({"a", "b"}, 0), {-1, -1}), 1);
  EXPECT_EQ(score("acc", question({"a", "b"}, 1), {-1, -1}), 0);
}

TEST(Metrics, MutualInformationBrierAndMass) {
  EXPECT_EQ(score("acc_mutual_info", question({"a", "b"}, 1), {-1, -2}, {-1, -4}), 1);
  EXPECT_NEAR(score("brier_score", question({"a", "b"}, 0), {std::log(0.75), std::log(0.25)}),
              0.125, 1e-12);
  Question q = question({"a", "b", "c"}, 0);
  q.labels = {1, 0, 1};
  EXPECT_NEAR(score("probability_mass", q, {std::log(0.2), std::log(0.6), std::log(0.2)}), 0.4,
              1e-12);
}

TEST(Metrics, MeanAndItsError) {
  const MetricValue v = aggregate(Aggregation::mean, std::vector<double>{1, 0, 1, 1});
  EXPECT_DOUBLE_EQ(v.value, 0.75);
  EXPECT_NEAR(*v.error, 0.25, 1e-12);  // sample deviation 0.5, over sqrt(4)
  EXPECT_FALSE(aggregate(Aggregation::mean, std::vector<double>{1}).error);
}

TEST(Metrics, PooledPartsWeighByTheirNumber) {
  const MetricValue v =
      aggregate(Aggregation::pooled_mean, std::vector<double>{1, 0.5}, std::vector<double>{1, 4});
  EXPECT_NEAR(v.value, 0.6, 1e-12);
}

TEST(Metrics, GroupsPoolLikeLmEval) {
  // Two subtasks of 10 and 30 rows.
  const MetricValue v =
      pool(std::vector<MetricValue>{{0.5, 0.1}, {0.7, 0.05}}, std::vector<int64_t>{10, 30});
  EXPECT_NEAR(v.value, 0.65, 1e-12);
  const double variance = (9 * 0.01 * 10 + 29 * 0.0025 * 30) / 38;
  EXPECT_NEAR(*v.error, std::sqrt(variance / 40), 1e-12);
}

}  // namespace
}  // namespace cupel::eval
