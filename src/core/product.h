// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

namespace cupel::core {

/// a [m, k] times b [k, n], both float32 or both float64. On the host a may have any strides and
/// every sum runs in the order of k, so the bits are the same on any number of threads (a BLAS does
/// not promise that); on a device it is the usual product.
at::Tensor product(const at::Tensor& a_mk, const at::Tensor& b_kn);

}  // namespace cupel::core
