// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/distributions.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "eval/stats/special.h"

namespace cupel::eval {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check_probability(double p, const char* what) {
  CUPEL_CHECK(p >= 0 && p <= 1, internal, what, ": ", p, " is no probability");
}

void check_counts(int64_t k, int64_t n) {
  CUPEL_CHECK(n > 0 && k >= 0 && k <= n, internal, k, " of ", n, " is no share");
}

}  // namespace

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

double normal_quantile(double p) {
  check_probability(p, "normal quantile");
  if (p == 0) return -kInfinity;
  if (p > 0.5) return p == 1 ? kInfinity : -normal_quantile(1 - p);
  // Start: Abramowitz and Stegun 26.2.23, good to 4.5e-4; each of Halley's steps triples the
  // digits.
  const double t = std::sqrt(-2 * std::log(p));
  double z = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 3; ++i) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    if (density == 0) break;
    const double step = (normal_cdf(z) - p) / density;
    z -= step / (1 + z * step / 2);
  }
  return z;
}

double chi2_sf(double x, double freedom) {
  CUPEL_CHECK(freedom > 0, internal, "chi-squared with ", freedom, " degrees of freedom");
  if (x <= 0) return 1;
  return freedom == 1 ? std::erfc(std::sqrt(x / 2)) : incomplete_gamma_upper(freedom / 2, x / 2);
}

double student_cdf(double t, double freedom) {
  CUPEL_CHECK(freedom > 0, internal, "Student's t with ", freedom, " degrees of freedom");
  const double whole = freedom + t * t;
  const double tail = incomplete_beta(freedom / 2, 0.5, freedom / whole, t * t / whole) / 2;
  return t < 0 ? tail : 1 - tail;
}

double student_quantile(double p, double freedom) {
  check_probability(p, "quantile of Student's t");
  CUPEL_CHECK(freedom > 0, internal, "Student's t with ", freedom, " degrees of freedom");
  if (p == 0) return -kInfinity;
  if (p > 0.5) return p == 1 ? kInfinity : -student_quantile(1 - p, freedom);
  if (p > 0.01) {  // t * t / (freedom + t * t), which may be small
    const double y = incomplete_beta_inverse(0.5, freedom / 2, 1 - 2 * p);
    return -std::sqrt(freedom * y / (1 - y));
  }
  const double x = incomplete_beta_inverse(freedom / 2, 0.5, 2 * p);
  return -std::sqrt(freedom * (1 - x) / x);
}

double binomial_cdf(int64_t k, int64_t n, double p) {
  check_probability(p, "binomial distribution");
  if (k < 0) return 0;
  if (k >= n) return 1;
  return incomplete_beta(static_cast<double>(n - k), static_cast<double>(k) + 1, 1 - p, p);
}

double binomial_sf(int64_t k, int64_t n, double p) {
  check_probability(p, "binomial distribution");
  if (k < 0) return 1;
  if (k >= n) return 0;
  return incomplete_beta(static_cast<double>(k) + 1, static_cast<double>(n - k), p, 1 - p);
}

double binomial_upper_bound(int64_t k, int64_t n, double error) {
  check_counts(k, n);
  check_probability(error, "upper bound of a share");
  if (k == n) return 1;
  return 1 - incomplete_beta_inverse(static_cast<double>(n - k), static_cast<double>(k) + 1, error);
}

double binomial_lower_bound(int64_t k, int64_t n, double error) {
  check_counts(k, n);
  check_probability(error, "lower bound of a share");
  if (k == 0) return 0;
  return incomplete_beta_inverse(static_cast<double>(k), static_cast<double>(n - k) + 1, error);
}

}  // namespace cupel::eval
