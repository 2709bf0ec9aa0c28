// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include "core/stats.h"
#include "format/weight_code.h"

namespace cupel::core {

/// What a multiplication reads, z = Q(T x~), beside what it stands for, T x: sums over tokens,
/// float64, in the basis of the transform. r = T x - z.
struct InputMoments {
  int64_t tokens = 0;
  at::Tensor zz_ii;         ///< z z^T
  at::Tensor rz_ii, rr_ii;  ///< r z^T, r r^T; undefined where z is T x itself
};

/// Whose inputs x are: the quantized model's, which are rounded, or those that the original gives
/// at the same token.
enum class Reference { own, original };

/// z beside T x, [t, i] float32 each.
struct InputPair {
  at::Tensor z_ti, x_ti;
};
/// Of one piece of the inputs, in the basis.
InputPair input_pair(const at::Tensor& own_ti, const at::Tensor& reference_ti,
                     const format::RoundedInput& input);
/// Adds the moments of a piece.
void add_moments(const InputPair& pair, InputMoments& moments);
/// From the inputs themselves (Needs::inputs, with a cross moment for the original's).
InputMoments input_moments(const Stats& stats, const format::RoundedInput& input,
                           Reference reference, at::Device device);

/// D = E[r z^T] (E[z z^T] + d)^-1, d = `damp` times the mean diagonal of the inputs that are alive:
/// W' + W' D is the weight whose outputs on z are nearest to those of W' on T x. An input that was
/// always zero stays.
at::Tensor regression_shift(const at::Tensor& rz_ii, const at::Tensor& zz_ii, double damp);

}  // namespace cupel::core
