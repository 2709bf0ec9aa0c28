// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

/// The canonical sums and functions of every level (cpu.h), by the letter.
namespace cupel::kernels::scalar {

/// Sixteen running sums; lane j takes the terms j, j + 16, ...
struct LaneSums {
  static constexpr int64_t kLanes = 16;
  float lanes[kLanes] = {};
  void add_product(int64_t i, float a, float b) {
    lanes[i % kLanes] = std::fma(a, b, lanes[i % kLanes]);
  }
  void add(int64_t i, float a) { lanes[i % kLanes] += a; }
  float total() const {
    float eight[8];
    for (int j = 0; j < 8; ++j) eight[j] = lanes[j] + lanes[j + 8];
    return ((eight[0] + eight[1]) + (eight[2] + eight[3])) +
           ((eight[4] + eight[5]) + (eight[6] + eight[7]));
  }
};

/// A sum of squares in float64: eight running sums.
inline double square_sum(const float* x, int64_t n) {
  double lanes[8] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i % 8] = std::fma(double{x[i]}, double{x[i]}, lanes[i % 8]);
  double four[4];
  for (int j = 0; j < 4; ++j) four[j] = lanes[j] + lanes[j + 4];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

/// See exp.inl.
inline float exponential(float x) {
  if (std::isnan(x)) return x;
  x = std::min(89.0F, std::max(-104.0F, x));
  const float whole = std::nearbyint(x * 1.44269504F);
  float r = std::fma(whole, -0.693359375F, x);
  r = std::fma(whole, 2.12194440e-4F, r);
  float p = 1.0F / 5040;
  for (const float term : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F})
    p = std::fma(p, r, term);
  const auto power_of_two = [](int n) {
    return std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23);
  };
  const int n = static_cast<int>(whole), half = n >> 1;
  return p * power_of_two(half) * power_of_two(n - half);
}

/// (..(c0 x + c1) x + ..) x + cn.
inline float polynomial(float x, std::initializer_list<float> coefficients) {
  float p = *coefficients.begin();
  for (const float* c = coefficients.begin() + 1; c != coefficients.end(); ++c)
    p = std::fma(p, x, *c);
  return p;
}

/// See functions.inl, also for those that follow.
inline float hyperbolic_tangent(float x) {
  const float y = std::fabs(x), square = y * y;
  if (y < 0.6F) {
    const float p = polynomial(
        square, {-0.00626911972F, 0.02111095905F, -0.05387394885F, 0.1333291537F, -0.3333333033F});
    return std::copysign(std::fma(y * square, p, y), x);
  }
  const float e = exponential(-2.0F * y);
  return std::copysign((1.0F - e) / (1.0F + e), x);
}

inline float capped(float x, float cap) {
  return cap * hyperbolic_tangent(x / cap);
}

inline float gelu_tanh(float x) {
  const float u = x * std::fma(x * x, 0.0713548163F, 1.59576912F);
  return x / (1.0F + exponential(-u));
}

inline float gelu(float x) {
  const float y = std::fabs(x), t = 1.0F / std::fma(0.35F, y, 1.0F);
  const float p =
      polynomial(t, {-0.0297322758F, 0.146783986F, -0.261410543F, 0.165510165F, -0.0273219106F,
                     0.107212499F, 0.119425093F, 0.139914334F, 0.139618635F});
  const float beyond = x * (exponential(-0.5F * (y * y)) * (p * t));
  return x < 0 ? beyond : x - beyond;
}

}  // namespace cupel::kernels::scalar
