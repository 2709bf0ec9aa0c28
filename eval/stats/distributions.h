// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>

namespace cupel::eval {

/// Distributions in float64, relative error below 1e-12 (tests/unit/eval/distributions_test.cpp).
/// A probability outside [0, 1] or a wrong parameter is an internal error.

double normal_cdf(double z);
/// The z with normal_cdf(z) = p; infinite at 0 and 1.
double normal_quantile(double p);
/// P(X > x) of chi-squared with `freedom` degrees.
double chi2_sf(double x, double freedom);
double student_cdf(double t, double freedom);
double student_quantile(double p, double freedom);
/// P(X <= k) and P(X > k) of X ~ Binomial(n, p).
double binomial_cdf(int64_t k, int64_t n, double p);
double binomial_sf(int64_t k, int64_t n, double p);

/// One-sided exact bounds of Clopper and Pearson (1934) on a share of which k of n were seen: the
/// true share is above (below) the bound with probability `error` at most.
double binomial_upper_bound(int64_t k, int64_t n, double error);
double binomial_lower_bound(int64_t k, int64_t n, double error);

}  // namespace cupel::eval
