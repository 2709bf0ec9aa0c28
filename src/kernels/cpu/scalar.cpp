// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>

#include "format/hadamard.h"
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

void gelu_tanh_mul(float* a, const float* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) a[i] = gelu_tanh(a[i]) * b[i];
}

void gelu_mul(float* a, const float* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) a[i] = gelu(a[i]) * b[i];
}

void clamped_swiglu(float* a, const float* b, int64_t n, float alpha, float limit) {
  for (int64_t i = 0; i < n; ++i) {
    const float gate = a[i] > limit ? limit : a[i];
    const float up = b[i] > limit ? limit : b[i] < -limit ? -limit : b[i];
    a[i] = (up + 1.0F) * (gate / (1.0F + exponential(-(gate * alpha))));
  }
}

void cap(float* x, int64_t n, float cap) {
  for (int64_t i = 0; i < n; ++i) x[i] = capped(x[i], cap);
}

void sigmoid(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = 1.0F / (1.0F + exponential(-x[i]));
}

void softmax(float* x, int64_t n) {
  const float maximum = *std::max_element(x, x + n);
  LaneSums sum;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = exponential(x[i] - maximum);
    sum.add(i, x[i]);
  }
  const float total = sum.total();
  for (int64_t i = 0; i < n; ++i) x[i] /= total;
}

void rope(float* x, int64_t heads, int64_t stride, const Rotation& rotation) {
  if (rotation.interleaved) return rope_interleaved(x, heads, stride, rotation);
  const float *cosine = rotation.cosine, *sine = rotation.sine;
  const int64_t half = rotation.dims / 2;
  for (int64_t h = 0; h < heads; ++h) {
    float* low = x + h * stride;
    float* high = low + half;
    for (int64_t i = 0; i < half; ++i) {
      const float a = low[i], b = high[i];
      low[i] = a * cosine[i] - b * sine[i];
      high[i] = b * cosine[i] + a * sine[i];
    }
  }
}

/// Butterflies of distance 1, 2, 4 ... n / 2: the order that every level keeps.
void butterflies(float* x, int64_t n) {
  for (int64_t distance = 1; distance < n; distance *= 2) {
    for (int64_t from = 0; from < n; from += 2 * distance) {
      for (int64_t i = from; i < from + distance; ++i) {
        const float a = x[i], b = x[i + distance];
        x[i] = a + b;
        x[i + distance] = a - b;
      }
    }
  }
}

/// x [factor, power] times the factor's matrix: terms in order, from 0.
void multiply_factor(float* x, int64_t power, const RowTransform& t) {
  float column[format::kLargestHadamardFactor];
  for (int64_t j = 0; j < power; ++j) {
    for (int b = 0; b < t.factor; ++b) column[b] = x[b * power + j];
    for (int a = 0; a < t.factor; ++a) {
      const int8_t* signs = t.matrix + static_cast<int64_t>(a) * t.factor;
      float sum = 0;
      for (int b = 0; b < t.factor; ++b) sum += signs[b] < 0 ? -column[b] : column[b];
      x[a * power + j] = sum;
    }
  }
}

void hadamard(float* x, const RowTransform& t) {
  const int64_t power = t.block / t.factor;
  for (int a = 0; a < t.factor; ++a) butterflies(x + a * power, power);
  if (t.factor > 1) multiply_factor(x, power, t);
  const auto norm = static_cast<float>(1.0 / std::sqrt(static_cast<double>(t.block)));
  for (int i = 0; i < t.block; ++i) x[i] *= norm;
}

void transform(float* x, int64_t n, const RowTransform& t) {
  if (t.scale != nullptr)
    for (int64_t i = 0; i < n; ++i) x[i] *= t.scale[i];
  if (t.signs != nullptr)
    for (int64_t i = 0; i < n; ++i) x[i] = t.signs[i] < 0 ? -x[i] : x[i];
  if (t.block > 1)
    for (int64_t i = 0; i + t.block <= n; i += t.block) hadamard(x + i, t);
}

void to_f16(const float* x, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = format::f32_to_f16(x[i]);
}

}  // namespace

void rope_interleaved(float* x, int64_t heads, int64_t stride, const Rotation& rotation) {
  for (int64_t h = 0; h < heads; ++h) {
    float* head = x + h * stride;
    for (int64_t i = 0; i < rotation.dims / 2; ++i) {
      const float a = head[2 * i], b = head[2 * i + 1];
      head[2 * i] = a * rotation.cosine[i] - b * rotation.sine[i];
      head[2 * i + 1] = b * rotation.cosine[i] + a * rotation.sine[i];
    }
  }
}

}  // namespace scalar

constinit const CpuKernels kScalarKernels = {
    .isa = Isa::scalar,
    .quantize = scalar::quantize,
    .coded = scalar::coded,
    .dense = scalar::dense,
    .rms_norm = scalar::rms_norm,
    .silu_mul = scalar::silu_mul,
    .gelu_tanh_mul = scalar::gelu_tanh_mul,
    .gelu_mul = scalar::gelu_mul,
    .clamped_swiglu = scalar::clamped_swiglu,
    .cap = scalar::cap,
    .sigmoid = scalar::sigmoid,
    .softmax = scalar::softmax,
    .rope = scalar::rope,
    .transform = scalar::transform,
    .attention = scalar::attention,
    .to_f16 = scalar::to_f16,
    .pack_kv = pack_kv,
};

}  // namespace cupel::kernels
