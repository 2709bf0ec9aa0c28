// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/codes/uniform_code.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/feedback.h"
#include "core/tensor_util.h"
#include "format/layouts/dense.h"
#include "tests/unit/core/quant_data.h"

namespace cupel::core {
namespace {

using format::f16_to_f32;
using format::f32_to_f16;
using testing::normals;

std::shared_ptr<const format::UniformLayout> uniform(int bits, int group, bool symmetric) {
  format::UniformParams params;
  params.bits = bits;
  params.group = group;
  params.symmetric = symmetric;
  return std::make_shared<format::UniformLayout>(params);
}

format::WeightCode rounded(int bits, int group, bool symmetric, const at::Tensor& w_oi,
                           ScaleRule rule = ScaleRule::minmax, const Metric& metric = {}) {
  return encode(UniformCode(uniform(bits, group, symmetric), rule), w_oi, metric, nullptr);
}

template <class T>
std::span<const T> array(const format::WeightCode& code, const char* name) {
  return code.arrays.at(name).as<T>();
}

double weighted_error(const at::Tensor& w, const format::WeightCode& code,
                      const at::Tensor& weight_i) {
  const at::Tensor e = w - decode(code);
  return (e * e * weight_i).sum().item<double>();
}

// The definition that published figures of plain int4 use, with the scale rounded to float16.
TEST(UniformCode, SymmetricIsRoundToNearestByAbsmax) {
  const at::Tensor w_oi = 0.04 * normals({9, 160}, "w");
  const auto code = rounded(4, 64, true, w_oi);
  const float* w = w_oi.const_data_ptr<float>();
  for (int64_t o = 0; o < 9; ++o)
    for (int64_t i = 0; i < 160; ++i) {
      const int64_t begin = o * 160 + i / 64 * 64, end = std::min(begin + 64, (o + 1) * 160);
      float absmax = 0;
      for (int64_t k = begin; k < end; ++k) absmax = std::max(absmax, std::abs(w[k]));
      const uint16_t scale = f32_to_f16(absmax / 7.0f);
      const float k = std::clamp(std::nearbyint(w[o * 160 + i] / f16_to_f32(scale)), -8.0f, 7.0f);
      ASSERT_EQ(array<uint16_t>(code, "scales")[o * 3 + i / 64], scale);
      ASSERT_EQ(array<uint8_t>(code, "codes")[o * 160 + i], static_cast<uint8_t>(k + 8))
          << o << " " << i;
    }
}

TEST(UniformCode, HalvesGoToEven) {
  at::Tensor w_oi = at::zeros({1, 32}, at::kFloat);
  const float values[] = {7, -7, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f};
  for (int i = 0; i < 8; ++i) w_oi[0][i].fill_(values[i]);
  const auto code = rounded(4, 32, true, w_oi);
  const float expected[] = {7, -7, 0, 2, 2, 0, -2, -2};
  const at::Tensor v_oi = decode(code);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(v_oi[0][i].item<float>(), expected[i]) << values[i];
}

TEST(UniformCode, AsymmetricReachesBothExtremesAndZero) {
  at::Tensor w_oi = normals({4, 64}, "w").abs_() + 1.0;  // the range must still hold zero
  w_oi[0][5].fill_(0.0);
  w_oi[1].neg_();
  for (const int bits : {2, 3, 5, 8}) {
    const auto code = rounded(bits, 64, false, w_oi);
    const at::Tensor v_oi = decode(code);
    EXPECT_EQ(v_oi[0][5].item<float>(), 0.0f);
    const double range = w_oi.abs().max().item<double>(), step = range / ((1 << bits) - 1);
    EXPECT_LE((w_oi - v_oi).abs().max().item<double>(), 0.5 * step + 1e-3 * range) << bits;
    EXPECT_EQ(array<uint8_t>(code, "zeros")[0], 0);
    EXPECT_EQ(array<uint8_t>(code, "zeros")[1], (1 << bits) - 1);
  }
}

TEST(UniformCode, ScalesStayFiniteAndPositive) {
  for (const bool symmetric : {true, false})
    for (const ScaleRule rule : {ScaleRule::minmax, ScaleRule::mse})
      for (const float size : {0.0f, 1e-30f, 1e-8f, 1e-5f, 1.0f, 3e38f}) {
        const at::Tensor w_oi = at::full({2, 40}, size, at::kFloat);
        w_oi[1].neg_();
        const auto code = rounded(4, 32, symmetric, w_oi, rule);
        for (const uint16_t scale : array<uint16_t>(code, "scales")) {
          EXPECT_TRUE(std::isfinite(f16_to_f32(scale)));
          EXPECT_GT(f16_to_f32(scale), 0) << size;
        }
        const at::Tensor v_oi = decode(code);
        EXPECT_TRUE(at::isfinite(v_oi).all().item<bool>());
        if (size == 0.0f) {
          EXPECT_TRUE(at::equal(v_oi, w_oi));
        }
      }
}

TEST(UniformCode, ShortLastGroupHasItsOwnScale) {
  at::Tensor w_oi = normals({3, 70}, "w");
  w_oi.slice(1, 64).mul_(100);
  const auto code = rounded(8, 64, true, w_oi);
  EXPECT_EQ(array<uint16_t>(code, "scales").size(), 6u);
  const at::Tensor error = (w_oi - decode(code)).abs();
  EXPECT_LT(error.slice(1, 0, 64).max().item<double>(), 0.02);
}

TEST(UniformCode, ClipSearchNeverDoesWorseInItsMetric) {
  const at::Tensor w_oi = normals({30, 200}, "w"), ones_i = at::full({200}, 1.0, at::kFloat);
  const at::Tensor weight_i = normals({200}, "weights").exp_();
  for (const bool symmetric : {true, false})
    for (const int bits : {2, 3, 4}) {
      const auto plain = rounded(bits, 64, symmetric, w_oi);
      const auto searched = rounded(bits, 64, symmetric, w_oi, ScaleRule::mse);
      const auto weighted =
          rounded(bits, 64, symmetric, w_oi, ScaleRule::mse, {.weight = weight_i});
      EXPECT_LT(weighted_error(w_oi, searched, ones_i), 0.99 * weighted_error(w_oi, plain, ones_i))
          << bits;
      EXPECT_LT(weighted_error(w_oi, weighted, weight_i), weighted_error(w_oi, searched, weight_i))
          << bits;
    }
}

TEST(UniformCode, ValuesAreWhatTheLayoutDecodes) {
  const at::Tensor w_oi = normals({6, 96}, "w");
  for (const bool symmetric : {true, false}) {
    const auto encoding = UniformCode(uniform(3, 32, symmetric), ScaleRule::mse).fit(w_oi, {});
    const at::Tensor w_io = w_oi.t().contiguous(), v_io = at::zeros({96, 6}, at::kFloat);
    encoding->encode({.row = 0,
                      .rows = 6,
                      .col = 0,
                      .cols = 96,
                      .stride = 6,
                      .target = w_io.const_data_ptr<float>(),
                      .value = v_io.mutable_data_ptr<float>()});
    EXPECT_TRUE(at::equal(v_io.t(), decode(encoding->finish())));
    const auto again = UniformCode(uniform(3, 32, symmetric), ScaleRule::mse).fit(w_oi, {});
    EXPECT_TRUE(at::equal(again->encode_on_device(0, w_io, nullptr), v_io));
  }
}

TEST(DenseCode, RoundsToTheType) {
  const at::Tensor w_oi = normals({3, 10}, "w");
  w_oi[0][0].fill_(1e30);
  format::DenseParams params;
  const auto values = [&](format::ElementType type) {
    params.type = type;
    const auto code = make_code(std::make_shared<format::DenseLayout>(params), ScaleRule::minmax);
    return decode(encode(*code, w_oi, {}, nullptr));
  };
  EXPECT_TRUE(at::equal(values(format::ElementType::f32), w_oi));
  EXPECT_TRUE(at::equal(values(format::ElementType::bf16), w_oi.to(at::kBFloat16).to(at::kFloat)));
  EXPECT_EQ(values(format::ElementType::f16)[0][0].item<float>(), 65504.0f);
}

}  // namespace
}  // namespace cupel::core
