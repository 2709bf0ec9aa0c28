// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "tests/unit/eval/stats_distributions_oracle.h"

namespace cupel::eval {
namespace {

namespace oracle = test::oracle;

/// Relative, with room for values whose logarithm is beyond 600.
void expect_close(double found, double expected, double relative) {
  EXPECT_NEAR(found, expected, relative * std::abs(expected) + 1e-300);
}

TEST(Distributions, Normal) {
  for (const auto& v : oracle::normal_cdf_values) expect_close(normal_cdf(v.x), v.value, 1e-12);
  for (const auto& v : oracle::normal_quantile_values)
    EXPECT_NEAR(normal_quantile(v.x), v.value, 1e-12 * std::abs(v.value) + 1e-15) << v.x;
  EXPECT_EQ(normal_quantile(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(normal_quantile(1), std::numeric_limits<double>::infinity());
}

TEST(Distributions, ChiSquared) {
  for (const auto& v : oracle::chi2_sf_values) {
    SCOPED_TRACE(cat(v.x, " with ", v.a));
    expect_close(chi2_sf(v.x, v.a), v.value, 1e-12);
  }
  EXPECT_EQ(chi2_sf(0, 1), 1);
}

TEST(Distributions, Student) {
  for (const auto& v : oracle::student_cdf_values) {
    SCOPED_TRACE(cat(v.x, " with ", v.a));
    expect_close(student_cdf(v.x, v.a), v.value, 1e-12);
  }
  for (const auto& v : oracle::student_quantile_values) {
    SCOPED_TRACE(cat(v.x, " with ", v.a));
    expect_close(student_quantile(v.x, v.a), v.value, 1e-12);
  }
}

TEST(Distributions, Binomial) {
  for (const auto& v : oracle::binomial_values) {
    SCOPED_TRACE(cat(v.k, " of ", v.n, " at ", v.p));
    expect_close(binomial_cdf(v.k, v.n, v.p), v.value, 1e-12);
    expect_close(binomial_sf(v.k, v.n, v.p), v.above, 1e-12);
  }
  EXPECT_EQ(binomial_cdf(-1, 5, 0.5), 0);
  EXPECT_EQ(binomial_sf(-1, 5, 0.5), 1);
}

TEST(Distributions, ExactBoundsOfAShare) {
  for (const auto& v : oracle::bound_values) {
    SCOPED_TRACE(cat(v.k, " of ", v.n, " at ", v.error));
    expect_close(binomial_lower_bound(v.k, v.n, v.error), v.lower, 1e-12);
    expect_close(binomial_upper_bound(v.k, v.n, v.error), v.upper, 1e-12);
  }
}

TEST(Distributions, RefuseWhatIsNoProbability) {
  EXPECT_THROW(normal_quantile(1.5), Error);
  EXPECT_THROW(normal_quantile(std::nan("")), Error);
  EXPECT_THROW(binomial_cdf(1, 2, -0.1), Error);
  EXPECT_THROW(binomial_upper_bound(3, 2, 0.05), Error);
  EXPECT_THROW(chi2_sf(1, 0), Error);
  EXPECT_THROW(student_quantile(0.5, -1), Error);
}

}  // namespace
}  // namespace cupel::eval
