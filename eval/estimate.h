// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace cupel::eval {

/// A figure and its standard error, which is unknown (not 0) where it comes from one sample.
struct Estimate {
  double value = 0;
  std::optional<double> error;
};

/// Mean, and the sample standard deviation over sqrt(n). An empty list is 0.
Estimate mean_of(std::span<const double> values);

/// sum(x) / sum(size), for samples of different size (documents, windows): the error is that of a
/// ratio estimator, sqrt(n / (n - 1) sum((x - ratio size)^2)) / sum(size).
Estimate ratio_of(std::span<const double> x, std::span<const double> sizes);

/// exp of an estimate, its error to first order.
Estimate exp_of(const Estimate& e);

/// Covariance of two means over the same samples, sum((a - mean a)(b - mean b)) / (n - 1) / n; none
/// for fewer than two samples.
std::optional<double> covariance_of_means(std::span<const double> a, std::span<const double> b);

/// Value at share `q` of sorted values, linear between neighbours; 0 for an empty list.
double quantile(const std::vector<double>& sorted, double q);

}  // namespace cupel::eval
