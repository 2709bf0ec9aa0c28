// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cmath>

#include "kernels/cpu/levels.h"
#include "kernels/cpu/scalar_math.h"

namespace cupel::kernels {
namespace scalar {
namespace {

void rms_norm(const float* x, const float* weight, float eps, float* out, int64_t n) {
  const double mean = square_sum(x, n) / static_cast<double>(n);
  const auto inverse = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * inverse * weight[i];
}

void silu_mul(float* a, const float* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) a[i] = a[i] / (1.0F + exponential(-a[i])) * b[i];
}

void rope(float* x, int64_t heads, int64_t head_dim, const float* cosine, const float* sine) {
  const int64_t half = head_dim / 2;
  for (int64_t h = 0; h < heads; ++h) {
    float* low = x + h * head_dim;
    float* high = low + half;
    for (int64_t i = 0; i < half; ++i) {
      const float a = low[i], b = high[i];
      low[i] = a * cosine[i] - b * sine[i];
      high[i] = b * cosine[i] + a * sine[i];
    }
  }
}

/// Butterflies of distance 1, 2, 4 ... block / 2, then one multiplication: the order that every
/// level keeps.
void hadamard(float* x, int block) {
  for (int distance = 1; distance < block; distance *= 2) {
    for (int from = 0; from < block; from += 2 * distance) {
      for (int i = from; i < from + distance; ++i) {
        const float a = x[i], b = x[i + distance];
        x[i] = a + b;
        x[i + distance] = a - b;
      }
    }
  }
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(block)));
  for (int i = 0; i < block; ++i) x[i] *= scale;
}

void transform(float* x, int64_t n, int block, const int8_t* signs, const float* scale) {
  if (scale != nullptr)
    for (int64_t i = 0; i < n; ++i) x[i] *= scale[i];
  if (signs != nullptr)
    for (int64_t i = 0; i < n; ++i) x[i] = signs[i] < 0 ? -x[i] : x[i];
  if (block > 1)
    for (int64_t i = 0; i + block <= n; i += block) hadamard(x + i, block);
}

void to_f16(const float* x, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = format::f32_to_f16(x[i]);
}

}  // namespace
}  // namespace scalar

constinit const CpuKernels kScalarKernels = {
    .isa = Isa::scalar,
    .quantize = scalar::quantize,
    .uniform = scalar::uniform,
    .dense = scalar::dense,
    .rms_norm = scalar::rms_norm,
    .silu_mul = scalar::silu_mul,
    .rope = scalar::rope,
    .transform = scalar::transform,
    .attention = scalar::attention,
    .to_f16 = scalar::to_f16,
};

}  // namespace cupel::kernels
