// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Every layout that an optimiser knows, by the registry: a new one is checked as soon as it has its
// line there.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <gtest/gtest.h>

#include "core/code.h"
#include "core/feedback.h"
#include "tests/unit/core/layouts_to_check.h"
#include "tests/unit/core/quant_data.h"

namespace cupel::core {
namespace {

using testing::LayoutPtr;
using testing::normals;

constexpr ScaleRule kRules[] = {ScaleRule::minmax, ScaleRule::mse, ScaleRule::exact,
                                ScaleRule::four_over_six};

template <class Check>
void for_each_layout(Check&& check) {
  for (const LayoutPtr& layout : testing::layouts_to_check()) {
    SCOPED_TRACE(cat(layout->name(), " ", layout->description()));
    check(layout);
  }
}

at::Tensor rounded(const LayoutPtr& layout, ScaleRule rule, const at::Tensor& w_oi,
                   const Metric& metric = {}) {
  return decode(encode(*make_code(layout, rule), w_oi, metric, nullptr));
}

TEST(CodeConformance, ZerosStayZerosAtEverySize) {
  for_each_layout([](const LayoutPtr& layout) {
    for (const ScaleRule rule : kRules)
      for (const int64_t cols : {1, 31, 64, 100}) {
        const at::Tensor zero_oi = at::zeros({3, cols}, at::kFloat);
        EXPECT_EQ(rounded(layout, rule, zero_oi).abs().max().item<float>(), 0.0f) << cols;
      }
  });
}

TEST(CodeConformance, WhatEncodingSaysIsWhatTheLayoutDecodes) {
  for_each_layout([](const LayoutPtr& layout) {
    for (const ScaleRule rule : kRules)
      for (const auto& [rows, cols] :
           {std::pair<int64_t, int64_t>{1, 1}, {1, 100}, {17, 33}, {40, 192}}) {
        const at::Tensor w_oi = normals({rows, cols}, "w");
        const auto encoding = make_code(layout, rule)->fit(w_oi, {});
        const at::Tensor value_io = encoding->encode_on_device(0, w_oi.t().contiguous(), nullptr);
        const format::WeightCode code = encoding->finish();
        EXPECT_TRUE(at::equal(decode(code), value_io.t())) << rows << " x " << cols;
      }
  });
}

TEST(CodeConformance, BitsAreThoseOfThePackedPlanes) {
  for_each_layout([](const LayoutPtr& layout) {
    const at::Tensor w_oi = normals({33, 100}, "w");
    const auto code = encode(*make_code(layout, ScaleRule::minmax), w_oi, {}, nullptr);
    std::size_t bytes = 0;
    for (const auto& [name, plane] : code.layout->pack(code)) bytes += plane.bytes.size();
    EXPECT_EQ(code.layout->bits(33, 100), static_cast<int64_t>(8 * bytes));
    EXPECT_EQ(layout->bits(33, 100), static_cast<int64_t>(8 * bytes)) << "before encoding";
  });
}

TEST(CodeConformance, ASearchedScaleIsNotWorseUnderItsMetric) {
  for_each_layout([](const LayoutPtr& layout) {
    // Their choices differ too; a prefix is searched for as a part of the whole.
    if (layout->name() == "mixed" || layout->name() == "sum" || layout->name() == "nested") return;
    const at::Tensor w_oi = normals({24, 160}, "w") * normals({24, 160}, "tail").abs().sqrt();
    const at::Tensor weight_i = normals({160}, "weight").exp();
    const auto error = [&](ScaleRule rule) {
      const at::Tensor e = w_oi - rounded(layout, rule, w_oi, {.weight = weight_i});
      return (e * e * weight_i).to(at::kDouble).sum().item<double>();
    };
    const double plain = error(ScaleRule::minmax);
    EXPECT_LE(error(ScaleRule::mse), plain * (1 + 1e-6));
    EXPECT_LE(error(ScaleRule::exact), error(ScaleRule::mse) * (1 + 1e-6));
  });
}

TEST(CodeConformance, WeightsOfEveryNumberCount) {
  for_each_layout([](const LayoutPtr& layout) {
    const at::Tensor w_oi = normals({8, 96}, "w");
    const at::Tensor weight_i = normals({96}, "weight").exp();
    const at::Tensor one = rounded(layout, ScaleRule::mse, w_oi, {.weight = weight_i});
    const at::Tensor all =
        rounded(layout, ScaleRule::mse, w_oi, {.weight = weight_i.expand({8, 96}).contiguous()});
    EXPECT_TRUE(at::equal(one, all));
  });
}

TEST(CodeConformance, RoundingTwiceGivesTheSameBytes) {
  for_each_layout([](const LayoutPtr& layout) {
    const at::Tensor w_oi = normals({20, 130}, "w");
    const auto once = encode(*make_code(layout, ScaleRule::mse), w_oi, {}, nullptr);
    const auto twice = encode(*make_code(layout, ScaleRule::mse), w_oi, {}, nullptr);
    for (const auto& [name, array] : once.arrays)
      EXPECT_EQ(array.bytes, twice.arrays.at(name).bytes) << name;
  });
}

TEST(CodeConformance, HugeAndTinyNumbersStayFinite) {
  for_each_layout([](const LayoutPtr& layout) {
    for (const double size : {1e-30, 1e-7, 1e4}) {
      const at::Tensor w_oi = normals({5, 70}, "w") * size;
      for (const ScaleRule rule : kRules) {
        const at::Tensor v = rounded(layout, rule, w_oi);
        EXPECT_TRUE(v.isfinite().all().item<bool>()) << size;
        EXPECT_LE(v.abs().max().item<double>(), 2.5 * w_oi.abs().max().item<double>() + 1e-6)
            << size;
      }
    }
  });
}

}  // namespace
}  // namespace cupel::core
