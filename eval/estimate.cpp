// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/estimate.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace cupel::eval {

namespace {

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum;
}

}  // namespace

Estimate mean_of(std::span<const double> values) {
  if (values.empty()) return {};
  const double mean = sum_of(values) / static_cast<double>(values.size());
  const auto variance = covariance_of_means(values, values);
  return {mean, variance ? std::optional(std::sqrt(*variance)) : std::nullopt};
}

Estimate ratio_of(std::span<const double> x, std::span<const double> sizes) {
  CUPEL_ASSERT(x.size() == sizes.size());
  const double size = sum_of(sizes);
  if (!(size > 0)) return {};
  Estimate out{sum_of(x) / size, {}};
  if (x.size() < 2) return out;
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double rest = x[i] - out.value * sizes[i];
    squares += rest * rest;
  }
  const auto n = static_cast<double>(x.size());
  out.error = std::sqrt(n / (n - 1) * squares) / size;
  return out;
}

Estimate exp_of(const Estimate& e) {
  const double value = std::exp(e.value);
  return {value, e.error ? std::optional(value * *e.error) : std::nullopt};
}

std::optional<double> covariance_of_means(std::span<const double> a, std::span<const double> b) {
  CUPEL_ASSERT(a.size() == b.size());
  if (a.size() < 2) return {};
  const auto n = static_cast<double>(a.size());
  const double mean_a = sum_of(a) / n, mean_b = sum_of(b) / n;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum / (n - 1) / n;
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace cupel::eval
