// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "eval/stats/python_random.h"
#include "tests/unit/eval/stats_comparison_oracle.h"

namespace cupel::eval {
namespace {

namespace oracle = test::oracle;
using Values = std::vector<double>;

double mean(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

double exp_mean(std::span<const double> x) {
  return std::exp(-mean(x));
}

double largest(std::span<const double> x) {
  return *std::max_element(x.begin(), x.end());
}

/// The replicates that the oracle's intervals come from.
Bootstrap of_python_draws(const Values& values, const Statistic& statistic) {
  PythonRandom random(11);
  Values replicates, jackknife;
  for (int i = 0; i < 2000; ++i) {
    Values drawn;
    for (const int64_t at : random.choices(static_cast<int64_t>(values.size()), 40))
      drawn.push_back(values[static_cast<std::size_t>(at)]);
    replicates.push_back(statistic(drawn));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Values rest = values;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    jackknife.push_back(statistic(rest));
  }
  return {statistic(values), replicates, jackknife};
}

void expect_intervals(const Bootstrap& b, const std::vector<oracle::IntervalValue>& expected) {
  for (const auto& e : expected) {
    SCOPED_TRACE(e.confidence);
    EXPECT_NEAR(b.percentile(e.confidence).low, e.low, 1e-12);
    EXPECT_NEAR(b.percentile(e.confidence).high, e.high, 1e-12);
    EXPECT_NEAR(b.bca(e.confidence).low, e.bca_low, 1e-12);
    EXPECT_NEAR(b.bca(e.confidence).high, e.bca_high, 1e-12);
    EXPECT_NEAR(b.error(), e.error, 1e-12);
  }
}

TEST(Bootstrap, IntervalsOfGivenReplicatesEqualScipys) {
  expect_intervals(of_python_draws(oracle::bootstrap_values, mean), oracle::mean_intervals);
  expect_intervals(of_python_draws(oracle::bootstrap_values, exp_mean), oracle::exp_mean_intervals);
}

TEST(Bootstrap, OwnDrawsGiveTheSameDistribution) {
  const Bootstrap b = bootstrap_mean(oracle::bootstrap_values, {200'000, 5});
  EXPECT_DOUBLE_EQ(b.estimate(), mean(oracle::bootstrap_values));
  // The plug-in standard error, which the replicates' deviation converges to.
  double squares = 0;
  for (const double v : oracle::bootstrap_values)
    squares += (v - b.estimate()) * (v - b.estimate());
  EXPECT_NEAR(b.error(), std::sqrt(squares) / 40, 0.01 * b.error());
  const auto& expected = oracle::mean_intervals[2];  // of 2000 replicates
  EXPECT_NEAR(b.bca(0.95).low, expected.bca_low, 0.008);
  EXPECT_NEAR(b.bca(0.95).high, expected.bca_high, 0.008);
}

TEST(Bootstrap, SameSeedSameReplicates) {
  const auto interval = [](uint64_t seed) {
    return bootstrap(oracle::bootstrap_values, exp_mean, {500, seed}).bca(0.9).low;
  };
  EXPECT_EQ(interval(1), interval(1));
  EXPECT_NE(interval(1), interval(2));
}

TEST(Bootstrap, StatisticsOfAnyKindEqualTheMeansOwnPath) {
  const Bootstrap any = bootstrap(oracle::bootstrap_values, mean, {500, 1}),
                  own = bootstrap_mean(oracle::bootstrap_values, {500, 1});
  EXPECT_EQ(any.percentile(0.9).low, own.percentile(0.9).low);
  EXPECT_NEAR(any.bca(0.9).low, own.bca(0.9).low, 1e-12);
}

TEST(Bootstrap, PairsAreDrawnTogether) {
  // Scores that vary much, differences that hardly do: documents drawn apart would give an interval
  // fifty times as wide.
  Values reference, model;
  for (int i = 0; i < 100; ++i) {
    reference.push_back(i);
    model.push_back(i + 1 + 0.01 * (i % 3));
  }
  const Bootstrap b = bootstrap_mean_difference(reference, model, {2000, 1});
  EXPECT_NEAR(b.estimate(), 1.0099, 1e-12);
  EXPECT_LT(b.bca(0.95).high - b.bca(0.95).low, 0.004);
  EXPECT_GT(b.bca(0.95).high - b.bca(0.95).low, 0.002);
}

TEST(Bootstrap, LevelsInvertTheIntervals) {
  const Bootstrap b = of_python_draws(oracle::bootstrap_values, exp_mean);
  for (const double confidence : {0.5, 0.9, 0.99}) {
    const Interval interval = b.bca(confidence);
    EXPECT_NEAR(b.p_at_most(interval.low), (1 - confidence) / 2, 2e-3);
    EXPECT_NEAR(b.p_at_least(interval.high), (1 - confidence) / 2, 2e-3);
  }
  EXPECT_EQ(b.p_at_most(100), 1);
  EXPECT_EQ(b.p_at_least(-100), 1);
  for (const double least : {b.p_at_most(-100), b.p_at_least(100)}) {
    EXPECT_GE(least, 1.0 / 2001);
    EXPECT_LT(least, 0.001);
  }
}

TEST(Bootstrap, ConstantScoresHaveNoSpread) {
  const Bootstrap b = bootstrap_mean(Values(50, 0.1), {200, 1});
  EXPECT_EQ(b.bca(0.95).low, b.estimate());
  EXPECT_EQ(b.bca(0.95).high, b.estimate());
  EXPECT_LT(b.error(), 1e-15);
}

TEST(Bootstrap, RefusesWhatHasNoAnswer) {
  const Values x = oracle::bootstrap_values;
  EXPECT_THROW(bootstrap_mean(Values{1}, {}), Error);
  EXPECT_THROW(bootstrap_mean(x, {0, 1}), Error);
  EXPECT_THROW(bootstrap_mean(Values{1, std::nan("")}, {100, 1}), Error);
  EXPECT_THROW(bootstrap_mean_difference(x, Values{1, 2}), Error);
  EXPECT_THROW(bootstrap_mean(x, {100, 1}).bca(95), Error);
  EXPECT_THROW(bootstrap_mean(x, {100, 1}).percentile(0), Error);
  // No resample has a larger maximum than the sample, most have a smaller one, some the same.
  EXPECT_NO_THROW(bootstrap(x, largest, {500, 1}).bca(0.95));
  EXPECT_THROW(Bootstrap(3, {1, 2}, {}).bca(0.95), Error);
}

TEST(LmEvalBootstrap, EqualsItsStandardErrors) {
  const Values& x = oracle::bootstrap_log_probs;
  EXPECT_NEAR(perplexity_bootstrap_error(x), oracle::perplexity_error, 1e-14);
  EXPECT_NEAR(lm_eval_bootstrap_error(x, exp_mean, 1500), oracle::perplexity_error_1500, 1e-14);
  EXPECT_NEAR(lm_eval_bootstrap_error(x, mean, 300), oracle::mean_error_300, 1e-14);
  EXPECT_THROW(perplexity_bootstrap_error({}), Error);
}

}  // namespace
}  // namespace cupel::eval
