// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <span>

namespace cupel::eval {

/// out_i = exp(x_i - largest) in float64 (relative error below 1e-15), and returns their sum, in a
/// fixed order. `x` is not empty; NaN or infinity in it gives a sum that is not finite.
double exp_shifted(std::span<const float> x, float largest, std::span<double> out);

/// Sum of the values, in a fixed order.
double sum(std::span<const double> values);

/// Index of the first value that is NaN or infinite, -1 when there is none.
std::ptrdiff_t first_not_finite(std::span<const float> x);

/// log(sum(exp(logits))) in float64.
double log_sum_exp(std::span<const float> logits);

/// sum p_i (a_i - b_i) and the same with q, for weights p and q: what both directions of a KL
/// divergence need.
struct CrossSums {
  double under_p = 0, under_q = 0;
};
CrossSums cross_sums(std::span<const double> p, std::span<const double> q, std::span<const float> a,
                     std::span<const float> b);

}  // namespace cupel::eval
