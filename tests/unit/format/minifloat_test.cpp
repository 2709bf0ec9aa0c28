// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/minifloat.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "format/element_type.h"
#include "format/grids.h"

namespace cupel::format {
namespace {

TEST(MiniFloat, E2M1HasItsSixteenNumbers) {
  const std::vector<float> values = minifloat_values(MiniFloat::e2m1);
  const float expected[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  ASSERT_EQ(values.size(), 16u);
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_EQ(values[k], expected[k]);
    EXPECT_EQ(values[8 + k], -expected[k]);
  }
}

TEST(MiniFloat, EightBitTypesAgreeWithTheReadersOfFiles) {
  for (const auto& [type, stored] : {std::pair(MiniFloat::e4m3, ElementType::f8_e4m3),
                                     std::pair(MiniFloat::e5m2, ElementType::f8_e5m2)})
    for (int k = 0; k < 256; ++k) {
      const std::byte byte{static_cast<unsigned char>(k)};
      float value;
      to_float(stored, {&byte, 1}, {&value, 1});
      const float own = from_minifloat(type, static_cast<uint8_t>(k));
      if (std::isfinite(value)) {
        EXPECT_EQ(own, value) << k;
      } else {
        EXPECT_TRUE(std::isnan(own)) << k;
      }
    }
}

TEST(MiniFloat, RoundsToNearestEvenAndSaturates) {
  // Ties of E2M1, by the tables of the formats' specification.
  for (const auto& [x, code] : {std::pair(0.25f, 0),
                                {0.75f, 2},
                                {1.25f, 2},
                                {1.75f, 4},
                                {2.5f, 4},
                                {3.5f, 6},
                                {5.0f, 6},
                                {5.01f, 7},
                                {100.0f, 7},
                                {0.2501f, 1}})
    EXPECT_EQ(to_minifloat(MiniFloat::e2m1, x), code) << x;
  EXPECT_EQ(to_minifloat(MiniFloat::e2m1, -6.5f), 15);
  EXPECT_EQ(from_minifloat(MiniFloat::e4m3, to_minifloat(MiniFloat::e4m3, 1e4f)), 448.0f);
  EXPECT_EQ(from_minifloat(MiniFloat::e4m3, to_minifloat(MiniFloat::e4m3, -1e30f)), -448.0f);
  EXPECT_EQ(from_minifloat(MiniFloat::e5m2, to_minifloat(MiniFloat::e5m2, INFINITY)), 57344.0f);
  EXPECT_EQ(to_minifloat(MiniFloat::e4m3, -0.0f), 0x80);
  EXPECT_EQ(from_minifloat(MiniFloat::e4m3, to_minifloat(MiniFloat::e4m3, 0x1p-9f)), 0x1p-9f);
  EXPECT_EQ(to_minifloat(MiniFloat::e4m3, 0x1p-10f), 0);  // a tie between zero and the smallest
}

TEST(MiniFloat, EveryNumberRoundsToItself) {
  for (const auto type :
       {MiniFloat::e2m1, MiniFloat::e2m3, MiniFloat::e3m2, MiniFloat::e4m3, MiniFloat::e5m2}) {
    const auto values = minifloat_values(type);
    for (std::size_t k = 0; k < values.size(); ++k)
      if (!std::isnan(values[k])) {
        EXPECT_EQ(to_minifloat(type, values[k]), k) << minifloat_name(type);
      }
  }
}

TEST(Grids, NormalFloatOfFourBitsIsThePublishedTable) {
  const double published[] = {-1.0,
                              -0.6961928009986877,
                              -0.5250730514526367,
                              -0.39491748809814453,
                              -0.28444138169288635,
                              -0.18477343022823334,
                              -0.09105003625154495,
                              0.0,
                              0.07958029955625534,
                              0.16093020141124725,
                              0.24611230194568634,
                              0.33791524171829224,
                              0.44070982933044434,
                              0.5626170039176941,
                              0.7229568362236023,
                              1.0};
  const auto levels = normal_float(4);
  for (std::size_t k = 0; k < 16; ++k)
    EXPECT_NEAR(static_cast<double>(levels[k]), published[k], 2e-6) << k;
}

/// Squared error of a normal source on symmetric levels, by cells: the moments of a cell are known.
double normal_error(const std::vector<float>& levels, double scale) {
  const auto density = [](double x) {
    return std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0));
  };
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  double error = 0, low = 0;
  for (std::size_t k = levels.size() / 2; k < levels.size(); ++k) {
    const double level = scale * static_cast<double>(levels[k]);
    const double high =
        k + 1 < levels.size() ? 0.5 * (level + scale * static_cast<double>(levels[k + 1])) : 40.0;
    const double mass = below(high) - below(low), first = density(low) - density(high);
    const double second = mass + low * density(low) - high * density(high);
    error += second - 2 * level * first + level * level * mass;
    low = high;
  }
  return 2 * error;
}

TEST(Grids, GaussianLevelsReachMaxsDistortions) {
  // J. Max, "Quantizing for Minimum Distortion" (1960), 2 to 32 levels; 64 levels by the same
  // conditions in float64. Whole levels cost what grids.cpp says.
  const double least[] = {0.3634, 0.1175, 0.03454, 0.009497, 0.002499, 0.000644};
  const double allowed[] = {1.001, 1.001, 1.001, 1.002, 1.012, 1.025};
  for (int bits = 1; bits <= 6; ++bits) {
    const std::vector<float> levels = gaussian_levels(bits);
    double best = 1;
    for (double scale = 0.5; scale < 5; scale *= 1.001)
      best = std::min(best, normal_error(levels, scale));
    EXPECT_LT(best, least[bits - 1] * allowed[bits - 1]) << bits;
    EXPECT_GT(best, least[bits - 1] * 0.999) << bits;
    for (std::size_t k = 0; k < levels.size(); ++k)
      EXPECT_EQ(levels[k], -levels[levels.size() - 1 - k]);
  }
}

TEST(Grids, SinhGoesFromEvenToCompanded) {
  const auto even = sinh_levels(3, 0, 0), reference = even_levels(3);
  for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(even[k], reference[k], 1e-6);
  const auto companded = sinh_levels(3, 3, 0);
  EXPECT_LT(companded[4] - companded[3], companded[7] - companded[6]);
  EXPECT_EQ(companded[7], 1.0f);
}

}  // namespace
}  // namespace cupel::format
