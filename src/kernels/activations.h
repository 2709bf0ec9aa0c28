// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>

namespace cupel::kernels {

/// Rows of a linear layer's input as int8 blocks, the form that integer kernels read (legend: m
/// rows, k inputs).
///
/// A block is `block` consecutive inputs (16, 32, 64 or 128; the last one may be short; k_padded is
/// k rounded up to 32 and the padding is zero). One pass: x = scale * q1 with q1 in [-127, 127],
/// scale = amax / 127. Two passes: x = scale * (254 q1 + q2), about 15 bits: scale is (amax / 127)
/// / 254, q2 the rounded rest. q2 lies in [-127, 127] too. `sums` is the integer that a weight of 1
/// everywhere would give: sum of q1, or of 254 q1 + q2, over the block.
struct QuantizedInput {
  int64_t m = 0, k = 0, k_padded = 0;
  int block = 32;
  bool two_pass = true;
  const int8_t* first = nullptr;   ///< [m, k_padded]
  const int8_t* second = nullptr;  ///< [m, k_padded], two passes only
  const float* scales = nullptr;   ///< [m, blocks]
  const int32_t* sums = nullptr;   ///< [m, blocks]
  int64_t blocks() const { return (k + block - 1) / block; }
};

}  // namespace cupel::kernels
