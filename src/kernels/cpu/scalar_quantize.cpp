// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The definition of the activation blocks; the other levels repeat it operation by operation
// (float32, to nearest even), so that the integers and scales are the same everywhere. For a block
// with the largest magnitude amax:
//   one pass    scale = amax / 127,          q1 = rint(x * (127 / amax))
//   two passes  scale = (amax / 127) / 254,  v = rint(x * (32258 / amax)), q1 = rint(v * (1 /
//   254)), q2 = v - 254 q1
// |x| <= amax keeps every product within its integer range: no clamping. A block with amax <
// kTinyBlock is zero (its reciprocal would overflow); one that holds NaN or infinity gets the scale
// NaN and zeros, so that the failure shows in the output.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/cpu/levels.h"
#include "kernels/cpu/quantize_constants.h"

namespace cupel::kernels::scalar {
namespace {

uint32_t magnitude_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits & 0x7fffffffU;
}

/// Integers order the magnitudes of finite numbers as floats do, and put infinity and NaN above
/// them.
float largest_magnitude(const float* x, int64_t n) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, magnitude_bits(x[i]));
  float out;
  std::memcpy(&out, &largest, sizeof out);
  return out;
}

/// To nearest, half to even, for |x| < 2^22: the addition drops the fraction.
float rint_small(float x) {
  constexpr float kShift = 12582912.0F;
  return (x + kShift) - kShift;
}

/// Scale and integer sum of one block of n inputs; second is nullptr for one pass.
void quantize_block(const float* x, int64_t n, int8_t* first, int8_t* second, float& scale,
                    int32_t& sum) {
  const float amax = largest_magnitude(x, n);
  sum = 0;
  if (!(amax >= kTinyBlock && amax < std::numeric_limits<float>::infinity())) {
    scale = amax < kTinyBlock ? 0.0F : std::numeric_limits<float>::quiet_NaN();
    std::memset(first, 0, static_cast<std::size_t>(n));
    if (second != nullptr) std::memset(second, 0, static_cast<std::size_t>(n));
    return;
  }
  scale = second != nullptr ? amax / 127.0F / 254.0F : amax / 127.0F;
  const float inverse = (second != nullptr ? kTwoPassRange : 127.0F) / amax;
  for (int64_t i = 0; i < n; ++i) {
    const float v = rint_small(x[i] * inverse);
    const float q1 = second != nullptr ? rint_small(v * kPassRatio) : v;
    first[i] = static_cast<int8_t>(q1);
    if (second != nullptr) second[i] = static_cast<int8_t>(v - 254.0F * q1);
    sum += static_cast<int32_t>(v);
  }
}

}  // namespace

void quantize(const float* x, int64_t ldx, const QuantizedInput& out) {
  const int64_t blocks = out.blocks();
  auto* first = const_cast<int8_t*>(out.first);
  auto* second = out.two_pass ? const_cast<int8_t*>(out.second) : nullptr;
  auto* scales = const_cast<float*>(out.scales);
  auto* sums = const_cast<int32_t*>(out.sums);
  const auto padding = static_cast<std::size_t>(out.k_padded - out.k);
  for (int64_t r = 0; r < out.m; ++r) {
    int8_t* row_first = first + r * out.k_padded;
    int8_t* row_second = second != nullptr ? second + r * out.k_padded : nullptr;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t begin = b * out.block, n = std::min<int64_t>(out.block, out.k - begin);
      quantize_block(x + r * ldx + begin, n, row_first + begin,
                     row_second != nullptr ? row_second + begin : nullptr, scales[r * blocks + b],
                     sums[r * blocks + b]);
    }
    std::memset(row_first + out.k, 0, padding);
    if (row_second != nullptr) std::memset(row_second + out.k, 0, padding);
  }
}

}  // namespace cupel::kernels::scalar
