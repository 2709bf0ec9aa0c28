// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cupel::eval {
namespace {

using Values = std::vector<double>;

// Expected values are numpy's.

TEST(Estimate, MeanAndItsError) {
  const Estimate e = mean_of(Values{1.5, 2.0, -1.0, 4.25});
  EXPECT_DOUBLE_EQ(e.value, 1.6875);
  EXPECT_NEAR(*e.error, 1.0771054962258804, 1e-14);
  EXPECT_FALSE(mean_of(Values{3}).error);
  EXPECT_EQ(mean_of(Values{3}).value, 3);
  EXPECT_FALSE(mean_of(Values{}).error);
}

TEST(Estimate, RatioOfUnequalSamples) {
  const Estimate e = ratio_of(Values{10, 30, 25}, Values{4, 11, 10});
  EXPECT_DOUBLE_EQ(e.value, 2.6);
  EXPECT_NEAR(*e.error, 0.0865332306111357, 1e-14);
  EXPECT_FALSE(ratio_of(Values{10}, Values{4}).error);
  // Samples of one size: the error of a mean.
  const Values x = {1, 5, 3, 3};
  EXPECT_NEAR(*ratio_of(x, Values{2, 2, 2, 2}).error, *mean_of(x).error / 2, 1e-14);
  EXPECT_EQ(ratio_of(Values{}, Values{}).value, 0);
}

TEST(Estimate, ExponentialToFirstOrder) {
  const Estimate e = exp_of({1, 0.5});
  EXPECT_DOUBLE_EQ(e.value, std::exp(1));
  EXPECT_DOUBLE_EQ(*e.error, std::exp(1) / 2);
  EXPECT_FALSE(exp_of({1, {}}).error);
}

TEST(Estimate, CovarianceOfMeans) {
  EXPECT_NEAR(*covariance_of_means(Values{1, 2, 4, 3}, Values{2, 2.5, 5, 3}), 0.3958333333333333,
              1e-14);
  EXPECT_FALSE(covariance_of_means(Values{1}, Values{2}));
}

TEST(Estimate, Quantiles) {
  const Values v = {0, 1, 2, 10};
  EXPECT_EQ(quantile(v, 0), 0);
  EXPECT_EQ(quantile(v, 1), 10);
  EXPECT_DOUBLE_EQ(quantile(v, 0.5), 1.5);
  EXPECT_DOUBLE_EQ(quantile(v, 0.9), 2 + 0.7 * 8);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

}  // namespace
}  // namespace cupel::eval
