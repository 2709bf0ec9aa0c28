// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include "format/weight_code.h"

/// Inputs as the multiplications of a quantized model read them, in tensor operations on any
/// device: float32, operation for operation as format::apply, round_row and undo define it.
namespace cupel::core {

/// T x of x [.., i].
at::Tensor transform_input(const format::InputTransform& transform, const at::Tensor& x);
/// Q of x [.., i]. Gradients pass straight through.
at::Tensor round_input(const format::InputRounding& rounding, const at::Tensor& x);
/// What dL/dz [.., i] of z = Q(x) says of x: rounding passes it where it doesn't clip, and a scale
/// that x sets itself passes it to the largest input of its group.
at::Tensor rounding_gradient(const format::InputRounding& rounding, const at::Tensor& x,
                             const at::Tensor& z, const at::Tensor& gradient);
/// T^-1 Q(T x) in the type of x.
at::Tensor rounded(const format::RoundedInput& input, const at::Tensor& x);
/// Whether two matrices read the same numbers of the same x.
bool same_input(const format::RoundedInput& a, const format::RoundedInput& b);

}  // namespace cupel::core
