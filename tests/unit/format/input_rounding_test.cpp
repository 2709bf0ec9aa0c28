// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/input_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "format/minifloat.h"

namespace cupel::format {
namespace {

using Numbers = InputRounding::Numbers;

std::vector<float> normals(std::size_t n, double spread = 1) {
  Rng rng(3, "x");
  std::vector<float> out(n);
  for (float& v : out) v = static_cast<float>(spread * rng.normal());
  return out;
}

std::vector<float> rounded(const InputRounding& r, std::vector<float> x, float* scales = nullptr) {
  round_row(r, x.data(), static_cast<int64_t>(x.size()), scales);
  return x;
}

TEST(InputRounding, IntegersAreTheNearestMultiplesOfTheScale) {
  for (const int bits : {2, 4, 8})
    for (const int group : {0, 32}) {
      const std::vector<float> x = normals(100);
      std::vector<float> scales(4, -1);
      const auto q = rounded({Numbers::integer, bits, group, 0}, x, scales.data());
      const int most = (1 << (bits - 1)) - 1;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t width = group == 0 ? x.size() : 32, begin = i / width * width;
        float largest = 0;
        for (std::size_t j = begin; j < std::min(begin + width, x.size()); ++j)
          largest = std::max(largest, std::abs(x[j]));
        const float scale = largest / static_cast<float>(most);
        EXPECT_EQ(scales[i / width], scale);
        EXPECT_EQ(q[i], scale * std::nearbyint(x[i] / scale)) << bits << ' ' << group << ' ' << i;
        EXPECT_LE(std::abs(q[i]), largest * (1 + 1e-6F));
      }
    }
}

TEST(InputRounding, E4m3IsTheNearestMinifloat) {
  // A scale of 1: every number in reach and its neighbours, and what lies between two of them.
  std::vector<float> x;
  for (const float v : minifloat_values(MiniFloat::e4m3)) {
    if (std::isnan(v)) continue;
    for (const float near : {v, std::nextafter(v, 500.0F), std::nextafter(v, -500.0F), v * 1.0625F})
      x.push_back(near);
  }
  for (const float v : normals(2000, 0.02)) x.push_back(v);
  const auto q = rounded({Numbers::e4m3, 8, 0, 1}, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(q[i], from_minifloat(MiniFloat::e4m3, to_minifloat(MiniFloat::e4m3, x[i]))) << x[i];
}

TEST(InputRounding, DynamicE4m3PutsTheLargestOn448) {
  const std::vector<float> x = {1, -7, 3.3F, 0};
  float scale = 0;
  const auto q = rounded({Numbers::e4m3, 8, 0, 0}, x, &scale);
  EXPECT_EQ(scale, 7.0F / 448);
  EXPECT_EQ(q[1], -7);
  EXPECT_EQ(q[3], 0);
}

TEST(InputRounding, AStaticScaleClips) {
  const InputRounding r{Numbers::integer, 8, 0, 0.5F};
  EXPECT_EQ(rounded(r, {1000, -1000, 0.6F, 0.25F, 0.75F}),
            (std::vector<float>{63.5F, -63.5F, 0.5F, 0, 1}));  // ties to even
}

TEST(InputRounding, ADynamicScaleMayClip) {
  const InputRounding r{Numbers::integer, 4, 2, 0, 0.5F};
  std::vector<float> scales(2);
  EXPECT_EQ(rounded(r, {14, 2, -7, 3}, scales.data()), (std::vector<float>{7, 2, -3.5F, 3}));
  EXPECT_EQ(scales, (std::vector<float>{1, 0.5F}));
}

TEST(InputRounding, RoundingTwiceChangesNothing) {
  for (const InputRounding& r :
       {InputRounding{Numbers::integer, 8, 0, 0}, InputRounding{Numbers::integer, 4, 32, 0},
        InputRounding{Numbers::integer, 8, 0, 0.02F}}) {
    const auto once = rounded(r, normals(100));
    const auto twice = rounded(r, once);
    for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], once[i], 1e-6);
  }
}

TEST(InputRounding, ZeroAndTinyGroupsAreZeroAndFinite) {
  for (const Numbers numbers : {Numbers::integer, Numbers::e4m3})
    for (const float value : {0.0F, 1e-45F, 1e-38F, -1e-32F}) {
      float scale = -1;
      const auto q = rounded({numbers, 8, 0, 0}, {value, value}, &scale);
      EXPECT_EQ(q, (std::vector<float>{0, 0})) << value;
      EXPECT_EQ(scale, 0);
    }
}

TEST(InputRounding, NanAndInfinityShow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {nan, -nan, 1 / std::numeric_limits<float>::denorm_min()})
    for (const Numbers numbers : {Numbers::integer, Numbers::e4m3})
      for (const float scale : {0.0F, 1.0F}) {
        const auto q = rounded({numbers, 8, 2, scale}, {1, bad, 2, 3});
        EXPECT_TRUE(std::isnan(q[1])) << bad;
        EXPECT_TRUE(std::isfinite(q[2])) << bad;
      }
}

TEST(InputRounding, RefusesWhatMeansNothing) {
  for (const InputRounding& r :
       {InputRounding{Numbers::integer, 1, 0, 0}, InputRounding{Numbers::integer, 9, 0, 0},
        InputRounding{Numbers::integer, 8, -1, 0}, InputRounding{Numbers::integer, 8, 0, -1},
        InputRounding{Numbers::integer, 8, 0, 1e-39F}, InputRounding{Numbers::e4m3, 8, 0, INFINITY},
        InputRounding{Numbers::integer, 8, 0, 0, 0}, InputRounding{Numbers::integer, 8, 0, 0, 1.5F},
        InputRounding{Numbers::integer, 8, 0, 0.5F, 0.9F}})
    EXPECT_THROW(check_rounding(r), Error);
  check_rounding({});
  check_rounding({Numbers::e4m3, 8, 128, 0});
}

TEST(InputRounding, IsSaidInWords) {
  EXPECT_EQ(description({}), "");
  EXPECT_EQ(description({Numbers::integer, 8, 0, 0}), "int8 per token");
  EXPECT_EQ(description({Numbers::integer, 4, 128, 0}), "int4 per group of 128");
  EXPECT_EQ(description({Numbers::integer, 4, 0, 0, 0.9F}), "int4 per token, clipped to 0.9");
  EXPECT_EQ(description({Numbers::e4m3, 8, 0, 0.25F}), "fp8, static scale 0.25");
}

}  // namespace
}  // namespace cupel::format
