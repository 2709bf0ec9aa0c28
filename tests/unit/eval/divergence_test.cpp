// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/divergence.h"

#include <cmath>

#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using Row = std::vector<float>;

/// Logits of a distribution, moved by a constant that may not matter.
Row logits(const std::vector<double>& p, double shift = 0) {
  Row out;
  for (const double x : p) out.push_back(static_cast<float>(std::log(x) + shift));
  return out;
}

TEST(Divergence, BothDirectionsOfTwoCoins) {
  DivergenceMeter meter;
  meter.add(logits({0.5, 0.5}), logits({0.25, 0.75}, 7), 0);
  const auto r = meter.result("base");
  EXPECT_EQ(r.against, "base");
  EXPECT_EQ(r.tokens, 1);
  EXPECT_NEAR(r.kl_mean, 0.5 * std::log(2) + 0.5 * std::log(0.5 / 0.75), 1e-6);
  EXPECT_NEAR(r.kl_reverse_mean, 0.25 * std::log(0.5) + 0.75 * std::log(1.5), 1e-6);
  EXPECT_NEAR(r.delta_p_mean, -0.25, 1e-6);
  EXPECT_NEAR(r.delta_p_rms, 0.25, 1e-6);
  EXPECT_EQ(r.kl_error, 0);
  // {0.5, 0.5} is a tie: its best token is the lowest id, the model's is 1.
  EXPECT_EQ(r.same_top1, 0);
}

TEST(Divergence, EqualModelsAreAtZero) {
  DivergenceMeter meter;
  for (int i = 0; i < 5; ++i) meter.add(logits({0.1, 0.2, 0.7}), logits({0.1, 0.2, 0.7}), i % 3);
  const auto r = meter.result("");
  EXPECT_EQ(r.kl_max, 0);
  EXPECT_EQ(r.kl_reverse_mean, 0);
  EXPECT_EQ(r.delta_p_rms, 0);
  EXPECT_EQ(r.same_top1, 1);
  EXPECT_EQ(r.kl.size(), 5u);
}

TEST(Divergence, TiesGoToTheLowestId) {
  EXPECT_EQ(argmax(Row{1, 3, 3, 2}), 1);
  EXPECT_EQ(argmax(Row{0, 0}), 0);
  DivergenceMeter meter;
  meter.add(Row{2, 2, 0}, Row{5, 1, 5}, -1);
  meter.add(Row{2, 2, 0}, Row{1, 5, 5}, -1);
  EXPECT_EQ(meter.result("").same_top1, 0.5);
}

TEST(Divergence, PositionsWithoutTargetAreLeftOutOfDeltaP) {
  DivergenceMeter meter;
  meter.add(logits({0.5, 0.5}), logits({0.25, 0.75}), 1);
  meter.add(logits({0.5, 0.5}), logits({0.25, 0.75}), -1);
  meter.add(logits({0.5, 0.5}), logits({0.25, 0.75}), 0);
  const auto r = meter.result("");
  EXPECT_EQ(r.tokens, 3);
  EXPECT_NEAR(r.delta_p_mean, 0, 1e-6);
  EXPECT_NEAR(r.delta_p_rms, 0.25, 1e-6);
}

TEST(Divergence, QuantilesAreLinearBetweenNeighbours) {
  DivergenceMeter meter;
  std::vector<double> expected;
  for (const double p : {0.9, 0.5, 0.8, 0.6}) {
    meter.add(logits({0.5, 0.5}), logits({p, 1 - p}), 0);
    expected.push_back(-0.5 * std::log(4 * p * (1 - p)));
  }
  const auto r = meter.result("");
  ASSERT_EQ(r.kl.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(r.kl[i], expected[i], 1e-6);  // in order
  // Sorted: p = 0.5, 0.6, 0.8, 0.9.
  EXPECT_NEAR(r.kl_median, (expected[3] + expected[2]) / 2, 1e-6);
  EXPECT_NEAR(r.kl_p90, expected[2] + 0.7 * (expected[0] - expected[2]), 1e-6);
  EXPECT_NEAR(r.kl_p99, expected[2] + 0.97 * (expected[0] - expected[2]), 1e-6);
  EXPECT_NEAR(r.kl_max, expected[0], 1e-6);
  double mean = 0, squares = 0;
  for (const double k : expected) mean += k / 4;
  for (const double k : expected) squares += (k - mean) * (k - mean);
  EXPECT_NEAR(r.kl_error, std::sqrt(squares / 3 / 4), 1e-6);
}

TEST(Divergence, LargeLogitsDoNotOverflow) {
  EXPECT_DOUBLE_EQ(log_sum_exp(Row{1000, 1000}), 1000 + std::log(2));
  EXPECT_DOUBLE_EQ(log_sum_exp(Row{-1000, -1000}), -1000 + std::log(2));
  DivergenceMeter meter;
  meter.add(Row{30000, -30000}, Row{-30000, 30000}, 0);
  EXPECT_NEAR(meter.result("").kl_mean, 60000, 1e-6);
  EXPECT_NEAR(meter.result("").delta_p_mean, -1, 1e-12);
}

TEST(Divergence, NothingAddedIsAllZero) {
  const auto r = DivergenceMeter().result("x");
  EXPECT_EQ(r.tokens, 0);
  EXPECT_EQ(r.kl_mean, 0);
  EXPECT_EQ(r.same_top1, 0);
}

TEST(Divergence, VocabulariesMustAgree) {
  DivergenceMeter meter;
  const Error e = test::error_of([&] { meter.add(Row{0, 0}, Row{0, 0, 0}, 0); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(),
            "the models' vocabularies differ: 2 and 3 logits; divergence needs the same tokenizer");
}

}  // namespace
}  // namespace cupel::eval
