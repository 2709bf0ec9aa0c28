// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "core/transform.h"

namespace cupel::core {

// Transforms that only scale: inputs are divided by s, columns of weights multiplied with it.
// Numbers per input are float64 on the host.

/// The transform with a name made of the group and its content; the identity has none.
format::InputTransform named(format::InputTransform transform, std::string_view group);

/// s made ready: inputs whose s is not positive and finite (dead ones, zero weights) get 1; the
/// others are divided by sqrt(largest * smallest): a common factor changes no rounding, but keeps
/// scales of groups in the range of float16.
at::Tensor centred(const at::Tensor& s_i);
format::InputTransform divided_by(const at::Tensor& s_i);

/// Largest, or mean, |w| and sum of w^2 of each input over all matrices of the group.
at::Tensor weight_absmax(const MatrixGroup& group);
at::Tensor weight_abs_mean(const MatrixGroup& group);
at::Tensor weight_squares(const MatrixGroup& group);

/// Why numbers per input can't decide anything: no token was seen, one is not finite, all are zero.
/// Empty: they can.
std::string unusable(const Stats& stats, const at::Tensor& values_i);

/// The result of a transform that could not be made.
MadeTransform no_scaling(const std::string& why);

}  // namespace cupel::core
