// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

namespace cupel::kernels::cuda {

/// core::Levels::nearest: how many of the ascending thresholds [levels - 1] lie below t.
__device__ inline int nearest_level(const float* threshold, int levels, float t) {
  int low = 0, high = levels - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (t > threshold[middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace cupel::kernels::cuda
