// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/code.h"
#include "core/feedback.h"

namespace cupel::core {

/// Whether weights that lie there can be rounded there: a GPU, in a program with CUDA kernels.
bool has_rounding_kernels(at::Device device);

/// Rounds w_oi (float32, contiguous) with feedback on its own device and hands the codes to `out`.
/// False, and nothing happened: the device has no kernels, or the code has no rule of scalars.
bool round_on_device(const at::Tensor& w_oi, const std::vector<RowFactor>& all, Encoding& out);

}  // namespace cupel::core
