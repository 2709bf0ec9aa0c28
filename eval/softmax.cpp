// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/vector_clones.h"

// A vocabulary's worth of exponentials for every scored token is the harness' own cost: these loops
// are written so that the compiler vectorizes them.
namespace cupel::eval {

namespace {

constexpr std::size_t kLanes = 8;

/// exp of x <= 0 without branches: 2^n by bits, the rest by its Taylor series on [-ln 2 / 2, ln 2 /
/// 2].
inline double exp_negative(double x) {
  constexpr double kMagic =
      6755399441055744.0;  // 1.5 * 2^52: adding it rounds to the nearest integer
  const double clamped = x < -700.0 ? -700.0 : x;
  const double shifted = clamped * 1.4426950408889634 + kMagic;
  const double n = shifted - kMagic;
  const double r = (clamped - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * (r * r) + r + 1.0;
  const uint64_t bits = (std::bit_cast<uint64_t>(shifted) << 52) + 0x3FF0000000000000u;
  return p * std::bit_cast<double>(bits);
}

double total(const std::array<double, kLanes>& sums) {
  double out = 0;
  for (const double s : sums) out += s;
  return out;
}

}  // namespace

CUPEL_VECTOR_CLONES double exp_shifted(std::span<const float> x, float largest,
                                       std::span<double> out) {
  const float* in = x.data();
  double* e = out.data();
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i)
    e[i] = exp_negative(static_cast<double>(in[i]) - static_cast<double>(largest));
  return sum(out.first(n));
}

CUPEL_VECTOR_CLONES double sum(std::span<const double> values) {
  const double* v = values.data();
  const std::size_t n = values.size(), whole = n / kLanes * kLanes;
  std::array<double, kLanes> sums{};
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) sums[j] += v[i + j];
  for (std::size_t i = whole; i < n; ++i) sums[i - whole] += v[i];
  return total(sums);
}

CUPEL_VECTOR_CLONES bool all_finite(const float* x, std::size_t n) {
  uint32_t bad = 0;
  for (std::size_t i = 0; i < n; ++i)
    bad |= static_cast<uint32_t>((std::bit_cast<uint32_t>(x[i]) & 0x7F800000u) == 0x7F800000u);
  return bad == 0;
}

std::ptrdiff_t first_not_finite(std::span<const float> x) {
  if (all_finite(x.data(), x.size())) return -1;
  return std::find_if(x.begin(), x.end(), [](float v) { return !std::isfinite(v); }) - x.begin();
}

double log_sum_exp(std::span<const float> logits) {
  thread_local std::vector<double> terms;
  terms.resize(logits.size());
  const float largest = *std::max_element(logits.begin(), logits.end());
  return static_cast<double>(largest) + std::log(exp_shifted(logits, largest, terms));
}

CUPEL_VECTOR_CLONES CrossSums cross_sums(std::span<const double> p, std::span<const double> q,
                                         std::span<const float> a, std::span<const float> b) {
  const std::size_t n = p.size(), whole = n / kLanes * kLanes;
  std::array<double, kLanes> under_p{}, under_q{};
  const auto add = [&](std::size_t i, std::size_t lane) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    under_p[lane] += p[i] * difference;
    under_q[lane] += q[i] * difference;
  };
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) add(i + j, j);
  for (std::size_t i = whole; i < n; ++i) add(i, i - whole);
  return {total(under_p), total(under_q)};
}

}  // namespace cupel::eval
