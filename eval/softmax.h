// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <span>

namespace cupel::eval {

/// out_i = exp(x_i - largest), and returns their sum. Terms in float32 (relative error below 3e-7),
/// the sum in float64 in a fixed order. `x` is not empty; NaN or infinity in it gives a sum that is
/// not finite.
double exp_shifted(std::span<const float> x, float largest, std::span<float> out);

/// sum p_i (a_i - b_i) and sum of the same with q, for weights p and q: what both directions of a
/// KL divergence need.
struct CrossSums {
  double under_p = 0, under_q = 0;
};
CrossSums cross_sums(std::span<const float> p, std::span<const float> q, std::span<const float> a,
                     std::span<const float> b);

}  // namespace cupel::eval
