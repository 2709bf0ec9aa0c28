// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/minifloat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace cupel::format {

namespace {

struct Shape {
  std::string_view name;
  int exponent, mantissa, bias;
  int not_numbers;  ///< highest patterns of each sign that are infinity or NaN
};

const Shape& shape_of(MiniFloat type) {
  static constexpr std::array<Shape, 5> kShapes = {{{"e2m1", 2, 1, 1, 0},
                                                    {"e2m3", 2, 3, 1, 0},
                                                    {"e3m2", 3, 2, 3, 0},
                                                    {"e4m3", 4, 3, 7, 1},
                                                    {"e5m2", 5, 2, 15, 4}}};
  return kShapes[static_cast<std::size_t>(type)];
}

/// The numbers of a type that are not negative, ascending: pattern k is entry k.
std::vector<float> magnitudes(const Shape& s) {
  const int count = (1 << (s.exponent + s.mantissa)) - s.not_numbers;
  std::vector<float> values;
  for (int k = 0; k < count; ++k) {
    const int exponent = k >> s.mantissa, mantissa = k & ((1 << s.mantissa) - 1);
    const int whole = exponent > 0 ? mantissa + (1 << s.mantissa) : mantissa;
    values.push_back(
        std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - s.bias - s.mantissa));
  }
  return values;
}

const std::vector<float>& magnitudes_of(MiniFloat type) {
  static const std::array<std::vector<float>, 5> all = [] {
    std::array<std::vector<float>, 5> lists;
    for (std::size_t i = 0; i < lists.size(); ++i)
      lists[i] = magnitudes(shape_of(static_cast<MiniFloat>(i)));
    return lists;
  }();
  return all[static_cast<std::size_t>(type)];
}

}  // namespace

int minifloat_bits(MiniFloat type) {
  return 1 + shape_of(type).exponent + shape_of(type).mantissa;
}

std::string_view minifloat_name(MiniFloat type) {
  return shape_of(type).name;
}

std::vector<float> minifloat_values(MiniFloat type) {
  const std::vector<float>& positive = magnitudes_of(type);
  const std::size_t half = std::size_t{1} << (minifloat_bits(type) - 1);
  std::vector<float> values(2 * half, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t k = 0; k < positive.size(); ++k) {
    values[k] = positive[k];
    values[half + k] = -positive[k];
  }
  return values;
}

uint8_t to_minifloat(MiniFloat type, float value) {
  CUPEL_ASSERT(!std::isnan(value));
  const std::vector<float>& values = magnitudes_of(type);
  const float size = std::fabs(value);
  auto above = static_cast<std::size_t>(std::upper_bound(values.begin(), values.end(), size) -
                                        values.begin());
  std::size_t nearest = above - 1;
  if (above < values.size()) {
    // Neighbours are floats of few bits: the middle and the comparison are exact.
    const float middle = 0.5f * (values[nearest] + values[above]);
    if (size > middle || (size == middle && nearest % 2 == 1)) nearest = above;
  }
  const int sign = std::signbit(value) ? 1 << (minifloat_bits(type) - 1) : 0;
  return static_cast<uint8_t>(static_cast<int>(nearest) | sign);
}

float from_minifloat(MiniFloat type, uint8_t bits) {
  const std::vector<float>& values = magnitudes_of(type);
  const std::size_t half = std::size_t{1} << (minifloat_bits(type) - 1), k = bits & (half - 1);
  if (k >= values.size()) return std::numeric_limits<float>::quiet_NaN();
  return (bits & half) != 0 ? -values[k] : values[k];
}

float from_e8m0(uint8_t bits) {
  return bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, bits - 127);
}

}  // namespace cupel::format
