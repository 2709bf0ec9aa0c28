// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

/// The canonical sums and the exponential of every level (cpu.h), by the letter.
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

}  // namespace cupel::kernels::scalar
