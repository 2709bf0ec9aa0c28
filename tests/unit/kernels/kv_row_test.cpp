// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "kernels/kv_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "format/minifloat.h"
#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {
namespace {

constexpr KvType kPacked[] = {KvType::int8, KvType::fp8, KvType::int4};
constexpr uint8_t kGuard = 0x5a;

struct Head {
  KvType type;
  int64_t dim;
  std::vector<uint8_t> bytes;  // and a guard
  Head(KvType t, const std::vector<float>& x) : type(t), dim(static_cast<int64_t>(x.size())) {
    bytes.assign(static_cast<std::size_t>(kv_head_bytes(t, dim)) + 1, kGuard);
    cpu_kernels(Isa::scalar).pack_kv(t, x.data(), 1, dim, bytes.data());
    EXPECT_EQ(bytes.back(), kGuard) << kv_type_name(t) << ' ' << dim;
  }
  double at(std::size_t d) const {
    return static_cast<double>(kv_factor(type, bytes.data())) *
           kv_code(type, bytes.data(), static_cast<int64_t>(d));
  }
};

/// The largest error that a type may make at x, in a head or group of these numbers.
double bound(KvType type, float x, const std::vector<float>& all) {
  const auto [low, high] = std::ranges::minmax_element(all);
  const double most = std::max(std::fabs(*low), std::fabs(*high));
  if (type == KvType::int8) return most / 254;
  if (type == KvType::fp8) return std::max<double>(std::fabs(x) / 16, most / 448 / 1024);
  // Half a step; bf16 widens what 15 steps span, by 2^-7 of the least number at most.
  return (*high - *low + most / 128) / 30 * (1 + 1.0 / 128);
}

TEST(KvRow, BytesOfAHead) {
  EXPECT_EQ(kv_head_bytes(KvType::f32, 64), 256);
  EXPECT_EQ(kv_head_bytes(KvType::f16, 64), 128);
  EXPECT_EQ(kv_head_bytes(KvType::int8, 64), 68);
  EXPECT_EQ(kv_head_bytes(KvType::fp8, 64), 68);
  EXPECT_EQ(kv_head_bytes(KvType::int4, 64), 40);
  EXPECT_EQ(kv_head_bytes(KvType::int8, 6), 20);
  EXPECT_EQ(kv_head_bytes(KvType::int4, 48), 40);
}

TEST(KvRow, NumbersAreWithinHalfAStep) {
  for (const KvType type : kPacked)
    for (const int64_t dim : {1, 6, 16, 32, 48, 64, 80, 128})
      for (const double size : {1e-20, 1.0, 1e20, 3e36}) {
        auto x = normals(dim, "row", size);
        if (dim > 3) x[2] *= 10;  // an outlier, and numbers that all lie on one side
        for (const float shift : {0.0F, static_cast<float>(20 * size)}) {
          for (float& value : x) value += shift;
          const Head head(type, x);
          for (std::size_t d = 0; d < x.size(); ++d) {
            const std::size_t first = type == KvType::int4 ? d / 32 * 32 : 0;
            const std::size_t last = type == KvType::int4 ? std::min(first + 32, x.size()) : dim;
            const std::vector<float> all(x.begin() + static_cast<std::ptrdiff_t>(first),
                                         x.begin() + static_cast<std::ptrdiff_t>(last));
            ASSERT_LE(std::fabs(head.at(d) - x[d]), bound(type, x[d], all) * 1.001)
                << kv_type_name(type) << " dim " << dim << " size " << size << " at " << d;
          }
        }
      }
}

TEST(KvRow, HeadsStandOnTheirOwnAtEveryLevel) {
  for (const KvType type : kPacked) {
    const int64_t dim = 48, bytes = kv_head_bytes(type, dim);
    const auto x = normals(3 * dim, "heads");
    for (const Isa isa : available_isas()) {
      std::vector<uint8_t> together(static_cast<std::size_t>(3 * bytes));
      cpu_kernels(isa).pack_kv(type, x.data(), 3, dim, together.data());
      for (std::ptrdiff_t h = 0; h < 3; ++h) {
        const Head alone(type, {x.begin() + h * dim, x.begin() + (h + 1) * dim});
        EXPECT_TRUE(
            std::equal(alone.bytes.begin(), alone.bytes.end() - 1, together.begin() + h * bytes))
            << isa_name(isa) << ' ' << kv_type_name(type);
      }
    }
  }
}

TEST(KvRow, ZerosStayZeroAndTinyRowsAreZeros) {
  for (const KvType type : kPacked)
    for (const float value : {0.0F, -0.0F, 1e-37F, -1e-40F}) {
      const Head head(type, std::vector<float>(40, value));
      for (std::size_t d = 0; d < 40; ++d)
        EXPECT_NEAR(head.at(d), 0.0, 1.01e-37) << kv_type_name(type);
    }
}

TEST(KvRow, WhatIsNotFiniteShows) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const KvType type : kPacked)
    for (const float value : {NAN, infinity, -infinity}) {
      auto x = normals(64, "row");
      x[40] = value;
      const Head head(type, x);
      for (std::size_t d = 32; d < 64; ++d) EXPECT_TRUE(std::isnan(head.at(d)));
      // A group of int4 fails alone.
      EXPECT_EQ(std::isnan(head.at(0)), type != KvType::int4);
    }
}

TEST(KvRow, TheLargestNumbersAreKeptOrShow) {
  const float most = std::numeric_limits<float>::max();
  for (const KvType type : kPacked) {
    std::vector<float> x(32, 1.0F);
    x[0] = -most;
    x[1] = most;
    const Head head(type, x);
    // bf16 has nothing below the least float.
    if (type == KvType::int4)
      EXPECT_TRUE(std::isnan(head.at(0)) && std::isnan(head.at(5)));
    else
      EXPECT_NEAR(head.at(1) / most, 1, 1e-6) << kv_type_name(type);
  }
}

TEST(KvRow, Fp8IsE4m3) {
  // With 448 in the row the factor is 1 (256 for the smaller numbers that kv_code gives).
  auto x = normals(4000, "e4m3", 60.0);
  for (const float v : format::minifloat_values(format::MiniFloat::e4m3))
    if (!std::isnan(v)) x.insert(x.end(), {v, v * 1.0625F, v * 1.03125F, v + 0x1p-10F});
  for (float& v : x) v = std::clamp(v, -448.0F, 448.0F);
  x[0] = 448;
  const Head head(KvType::fp8, x);
  ASSERT_EQ(kv_factor(KvType::fp8, head.bytes.data()), 256.0F);
  for (std::size_t d = 0; d < x.size(); ++d) {
    const uint8_t code = format::to_minifloat(format::MiniFloat::e4m3, x[d]);
    ASSERT_EQ(head.bytes[static_cast<std::size_t>(kKvHeader) + d], code) << x[d];
    ASSERT_EQ(head.at(d), format::from_minifloat(format::MiniFloat::e4m3, code)) << x[d];
  }
}

TEST(KvRow, Int4KeepsSixteenLevels) {
  std::vector<float> x;
  for (int i = 0; i < 48; ++i) x.push_back(static_cast<float>(i % 16) * 0.5F - 3.0F);
  const Head head(KvType::int4, x);
  for (std::size_t d = 0; d < x.size(); ++d) EXPECT_EQ(head.at(d), x[d]);
}

TEST(KvRow, Names) {
  for (const char* name : {"f16", "f32", "int8", "int4", "fp8"})
    EXPECT_EQ(kv_type_name(kv_type_from_name(name)), name);
  try {
    kv_type_from_name("int5");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    EXPECT_NE(std::string(e.what()).find("'int5'"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("int8, int4 or fp8"), std::string::npos);
  }
}

}  // namespace
}  // namespace cupel::kernels
