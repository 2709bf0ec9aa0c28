// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/input_rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/vector_clones.h"

namespace cupel::format {
namespace {

using Numbers = InputRounding::Numbers;

constexpr float kLargestE4m3 = 448;
// Adding and subtracting it rounds to a multiple of 1, half to even, for |x| < 2^22.
constexpr float kWholeShift = 12582912.0F;
// The same for multiples of 2^-9, the step of E4M3 below its smallest normal number, 2^-6.
constexpr float kSubnormalShift = kWholeShift * 0x1p-9F;
constexpr float kSmallestNormal = 0x1p-6F;
// Bits of a float32 mantissa beyond E4M3's three.
constexpr uint32_t kExtraBits = (1u << 20) - 1;

float e4m3(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  const uint32_t nearest = (bits + (kExtraBits >> 1) + ((bits >> 20) & 1)) & ~kExtraBits;
  const float subnormal = (v + kSubnormalShift) - kSubnormalShift;
  return std::abs(v) < kSmallestNormal ? subnormal : std::bit_cast<float>(nearest);
}

float clamped(float v, float most) {
  return std::min(std::max(v, -most), most);
}

/// NaN for NaN and infinity, else 0: added to a result that clamping would have made finite.
float poison(float x) {
  return x - x;
}

CUPEL_VECTOR_CLONES void to_integers(float* x, int64_t n, float scale, float most) {
  for (int64_t i = 0; i < n; ++i) {
    const float q = (clamped(x[i] / scale, most) + kWholeShift) - kWholeShift;
    x[i] = q * scale + poison(x[i]);
  }
}

CUPEL_VECTOR_CLONES void to_e4m3(float* x, int64_t n, float scale) {
  for (int64_t i = 0; i < n; ++i)
    x[i] = e4m3(clamped(x[i] / scale, kLargestE4m3)) * scale + poison(x[i]);
}

/// Largest magnitude; NaN and infinity lie above all numbers, as the order of their bits has it.
CUPEL_VECTOR_CLONES float largest_magnitude(const float* x, int64_t n) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i)
    largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffU);
  return std::bit_cast<float>(largest);
}

}  // namespace

float largest_level(const InputRounding& rounding) {
  return rounding.numbers == Numbers::e4m3 ? kLargestE4m3
                                           : static_cast<float>((1 << (rounding.bits - 1)) - 1);
}

std::string numbers_name(const InputRounding& rounding) {
  return rounding.numbers == Numbers::e4m3 ? "fp8" : cat("int", rounding.bits);
}

std::string description(const InputRounding& rounding) {
  if (rounding.none()) return "";
  const std::string name = numbers_name(rounding);
  if (!rounding.dynamic()) return cat(name, ", static scale ", rounding.scale);
  return cat(name, rounding.group == 0 ? " per token" : cat(" per group of ", rounding.group),
             rounding.clip == 1 ? "" : cat(", clipped to ", rounding.clip));
}

void check_rounding(const InputRounding& r) {
  if (r.none()) return;
  CUPEL_CHECK(r.bits >= 2 && r.bits <= 8, data, "inputs are rounded to 2 to 8 bits, not to ",
              r.bits);
  CUPEL_CHECK(r.group >= 0, data, "inputs that share a scale are 0 (all of a token) or more, not ",
              r.group);
  CUPEL_CHECK(r.dynamic() || (std::isfinite(r.scale) && r.scale >= kTinyGroup), data,
              "the scale of rounded inputs must be 0 (dynamic) or a finite number of at least ",
              kTinyGroup, ", not ", r.scale);
  CUPEL_CHECK(
      r.clip > 0 && r.clip <= 1 && (r.dynamic() || r.clip == 1), data,
      "the share of the largest input that a dynamic scale reaches must lie in (0, 1], not ",
      r.clip);
}

void round_row(const InputRounding& rounding, float* x, int64_t width, float* scales) {
  if (rounding.none()) return;
  const float most = largest_level(rounding);
  const int64_t group = rounding.group_width(width);
  for (int64_t begin = 0; begin < width; begin += group) {
    const int64_t n = std::min(group, width - begin);
    float scale = rounding.scale;
    if (rounding.dynamic()) {
      const float largest = largest_magnitude(x + begin, n);
      scale = largest < kTinyGroup ? 0.0F : largest * rounding.clip / most;
    }
    if (scales) *scales++ = scale;
    if (scale == 0)
      std::fill_n(x + begin, n, 0.0F);
    else if (rounding.numbers == Numbers::e4m3)
      to_e4m3(x + begin, n, scale);
    else
      to_integers(x + begin, n, scale, most);
  }
}

}  // namespace cupel::format
