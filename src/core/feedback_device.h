// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/code.h"
#include "core/feedback.h"

namespace cupel::core {

/// Rounds w_oi (float32, contiguous) with feedback on its own device and hands the codes to `out`.
/// False, and nothing happened: w lies on the host, the code has no rule of scalars, or the program
/// was built without CUDA kernels.
bool round_on_device(const at::Tensor& w_oi, const std::vector<RowFactor>& all, Encoding& out);

}  // namespace cupel::core
