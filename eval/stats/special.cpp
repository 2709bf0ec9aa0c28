// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/special.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"

namespace cupel::eval {
namespace {

// Powers over gamma functions come from Loader's saddle-point expansion ("Fast and accurate
// computation of binomial probabilities", 2000): differences of large logarithms would lose digits.

constexpr int kMostSteps = 1'000'000;  // a continued fraction takes about sqrt(a + b)
constexpr double kTiny = 1e-300;

/// log(n!) less Stirling's (n + 1/2) log(n) - n + log(2 pi) / 2, for real n > 0.
double stirling_rest(double n) {
  if (n < 15) {
    // log(n!) = log((n + 16)!) - log((n + 1) ... (n + 16)).
    double product = 1;
    for (int i = 1; i <= 16; ++i) product *= n + i;
    const double far = n + 16;
    return stirling_rest(far) + (far + 0.5) * std::log(far) - far - std::log(product) -
           ((n + 0.5) * std::log(n) - n);
  }
  const double square = n * n;
  return (1.0 / 12 -
          (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / square) / square) / square) /
              square) /
         n;
}

/// x log(x / mean) + mean - x, without cancellation where the two are near.
double deviance(double x, double mean) {
  if (std::abs(x - mean) >= 0.1 * (x + mean)) return x * std::log(x / mean) + mean - x;
  const double v = (x - mean) / (x + mean);
  double sum = (x - mean) * v, power = 2 * x * v;
  for (int j = 1; j < 1000; ++j) {
    power *= v * v;
    const double next = sum + power / (2 * j + 1);
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

/// x^a y^b / B(a, b).
double beta_power(double a, double b, double x, double y) {
  const double n = a + b;
  const double log_share = stirling_rest(n) - stirling_rest(a) - stirling_rest(b) -
                           deviance(a, n * x) - deviance(b, n * y);
  return std::sqrt(a * b / (2 * std::numbers::pi * n)) * std::exp(log_share);
}

double away_from_zero(double value) {
  return std::abs(value) < kTiny ? kTiny : value;
}

/// The fraction in I_x(a, b) = beta_power / a * fraction, for x below its mean.
double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < kMostSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    value *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    value *= c * d;
    if (std::abs(c * d - 1) < 1e-15) return value;
  }
  fail(Fault::internal, "incomplete beta function: no convergence at a ", a, ", b ", b, ", x ", x);
}

}  // namespace

double incomplete_beta(double a, double b, double x, double y) {
  CUPEL_CHECK(a > 0 && b > 0 && x >= 0 && y >= 0, internal, "incomplete beta function of a ", a,
              ", b ", b, ", x ", x);
  if (x == 0) return 0;
  if (y == 0) return 1;
  if (x < (a + 1) / (a + b + 2)) return beta_power(a, b, x, y) / a * beta_fraction(a, b, x);
  return 1 - beta_power(b, a, y, x) / b * beta_fraction(b, a, y);
}

double incomplete_beta_inverse(double a, double b, double p) {
  CUPEL_CHECK(p >= 0 && p <= 1, internal, "inverse of the incomplete beta function at ", p);
  if (p == 0 || p == 1) return p;
  // Newton's method inside a bracket; where it does not halve the step, the bracket is halved.
  double low = 0, high = 1, x = a / (a + b), step = 1;
  for (int i = 0; i < 2000; ++i) {
    const double error = incomplete_beta(a, b, x, 1 - x) - p;
    (error < 0 ? low : high) = x;
    double next = x - error * x * (1 - x) / beta_power(a, b, x, 1 - x);
    const bool settled = std::abs(next - x) <= std::numeric_limits<double>::epsilon() * x;
    if (settled || high - low <= std::numeric_limits<double>::epsilon() * low) break;
    if (!(next > low && next < high) || std::abs(next - x) > step / 2) next = (low + high) / 2;
    step = std::abs(next - x);
    x = next;
  }
  return x;
}

double incomplete_gamma_upper(double a, double x) {
  CUPEL_CHECK(a > 0 && x >= 0, internal, "incomplete gamma function of a ", a, ", x ", x);
  if (x == 0) return 1;
  // x^a exp(-x) / gamma(a + 1)
  const double power =
      std::exp(-stirling_rest(a) - deviance(a, x)) / std::sqrt(2 * std::numbers::pi * a);
  if (x < a + 1) {
    double term = 1, sum = 1;
    for (int i = 1; i < kMostSteps && term > sum * 1e-17; ++i) sum += term *= x / (a + i);
    return 1 - power * sum;
  }
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, value = d;
  for (int i = 1; i < kMostSteps; ++i) {
    const double n = -i * (i - a);
    b += 2;
    d = 1 / away_from_zero(n * d + b);
    c = away_from_zero(b + n / c);
    value *= c * d;
    if (std::abs(c * d - 1) < 1e-15) return power * a * value;
  }
  fail(Fault::internal, "incomplete gamma function: no convergence at a ", a, ", x ", x);
}

}  // namespace cupel::eval
