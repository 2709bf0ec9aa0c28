// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/softmax.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

// A vocabulary's worth of exponentials for every scored token is the harness' own cost: these loops
// are written so that the compiler vectorizes them, once for AVX2 and once for every processor.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define CUPEL_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CUPEL_CLONES
#endif

namespace cupel::eval {

namespace {

constexpr std::size_t kLanes = 8;

/// exp of x <= 0 without branches: 2^n by bits, the rest by a polynomial on [-ln 2 / 2, ln 2 / 2].
inline float exp_negative(float x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest integer
  const float clamped = x < -87.0f ? -87.0f : x;
  const float shifted = clamped * 1.44269504f + kMagic;
  const float n = shifted - kMagic;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const auto bits = (std::bit_cast<uint32_t>(shifted) << 23) + 0x3F800000u;
  return p * std::bit_cast<float>(bits);
}

double total(const std::array<double, kLanes>& sums) {
  double out = 0;
  for (const double s : sums) out += s;
  return out;
}

}  // namespace

CUPEL_CLONES double exp_shifted(std::span<const float> x, float largest, std::span<float> out) {
  const float* in = x.data();
  float* e = out.data();
  const std::size_t n = x.size(), whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < n; ++i) e[i] = exp_negative(in[i] - largest);
  std::array<double, kLanes> sums{};
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) sums[j] += static_cast<double>(e[i + j]);
  for (std::size_t i = whole; i < n; ++i) sums[i - whole] += static_cast<double>(e[i]);
  return total(sums);
}

CUPEL_CLONES CrossSums cross_sums(std::span<const float> p, std::span<const float> q,
                                  std::span<const float> a, std::span<const float> b) {
  const std::size_t n = p.size(), whole = n / kLanes * kLanes;
  std::array<double, kLanes> under_p{}, under_q{};
  const auto add = [&](std::size_t i, std::size_t lane) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    under_p[lane] += static_cast<double>(p[i]) * difference;
    under_q[lane] += static_cast<double>(q[i]) * difference;
  };
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) add(i + j, j);
  for (std::size_t i = whole; i < n; ++i) add(i, i - whole);
  return {total(under_p), total(under_q)};
}

}  // namespace cupel::eval
