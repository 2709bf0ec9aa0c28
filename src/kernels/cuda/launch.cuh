// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cuda_runtime.h>

#include "base/error.h"

namespace cupel::kernels::cuda {

/// Fault::environment with the runtime's own words.
inline void check(cudaError_t status, const char* what) {
  CUPEL_CHECK(status == cudaSuccess, environment, what,
              " failed on the GPU: ", cudaGetErrorString(status));
}

__host__ __device__ constexpr int64_t blocks_of(int64_t n, int64_t each) {
  return (n + each - 1) / each;
}

}  // namespace cupel::kernels::cuda
