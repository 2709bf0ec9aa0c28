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
/// T^-1 Q(T x) in the type of x.
at::Tensor rounded(const format::RoundedInput& input, const at::Tensor& x);
/// Whether two matrices read the same numbers of the same x.
bool same_input(const format::RoundedInput& a, const format::RoundedInput& b);

}  // namespace cupel::core
