// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include "core/tensor_util.h"
#include "tests/unit/core/quant_data.h"
#include "tests/unit/quant/methods_for_test.h"

namespace cupel::quant {
namespace {

using core::testing::normals;

constexpr double kNorm = 0.7;

/// Many small weights and a few large ones.
at::Tensor heavy_tailed() {
  return 0.02 * normals({48, 192}, "w") * normals({48, 192}, "tail").mul_(0.8).exp_();
}

at::Tensor rounded(const std::string& method, const std::string& recipe, const at::Tensor& w_oi) {
  const core::MatrixGroup group{.id = "g", .names = {"w"}, .weights_oi = {w_oi}};
  const auto results = testing::make(method, recipe)->quantize(group, {}, nullptr, Rng(1, "g"));
  return core::decoded_weight(results.front().code);
}

/// Sum of |W - V|^0.7 of each row, in float64.
at::Tensor error_o(const at::Tensor& w_oi, const at::Tensor& v_oi) {
  return (w_oi.to(at::kDouble) - v_oi.to(at::kDouble)).abs().pow(kNorm).sum(1);
}

TEST(Hqq, NoRowIsWorseThanItsStartAndAllAreBetter) {
  const at::Tensor w_oi = heavy_tailed();
  for (const char* layout : {"bits: 2", "bits: 3", "bits: 4", "bits: 3, symmetric: true"})
    for (const char* scale : {"minmax", "mse"}) {
      SCOPED_TRACE(cat(layout, ", ", scale));
      // Whole rows: each is a group, and its norm the objective itself.
      const std::string recipe =
          cat("{layout: {uniform: {group: 0, ", layout, "}}, scale: ", scale, "}");
      const at::Tensor plain_o = error_o(w_oi, rounded("rtn", recipe, w_oi));
      const at::Tensor own_o = error_o(w_oi, rounded("hqq", recipe, w_oi));
      EXPECT_TRUE((own_o <= plain_o * (1 + 1e-6)).all().item<bool>());
      EXPECT_LT(own_o.sum().item<double>(), 0.98 * plain_o.sum().item<double>());
    }
}

TEST(Hqq, IterationsOnlyHelp) {
  const at::Tensor w_oi = heavy_tailed();
  at::Tensor last_o;
  for (const int iterations : {0, 1, 2, 4, 20}) {
    const std::string recipe =
        cat("{layout: {uniform: {bits: 3, group: 0}}, iterations: ", iterations, "}");
    const at::Tensor now_o = error_o(w_oi, rounded("hqq", recipe, w_oi));
    if (last_o.defined()) {
      EXPECT_TRUE((now_o <= last_o * (1 + 1e-6)).all().item<bool>()) << iterations;
    }
    last_o = now_o;
  }
}

TEST(Hqq, FindsAGridThatHoldsTheWeights) {
  // Whole steps of one grid, but for two outliers that a grid from the extremes must bend to.
  at::Tensor w_oi = normals({32, 128}, "steps").mul_(2).round_().clamp_(-3, 3).mul_(0.125);
  w_oi.select(1, 7).fill_(0.55);
  w_oi.select(1, 50).fill_(-0.46);
  const std::string recipe = "{layout: {uniform: {bits: 3, group: 0}}}";
  const double plain = error_o(w_oi, rounded("rtn", recipe, w_oi)).sum().item<double>();
  EXPECT_LT(error_o(w_oi, rounded("hqq", recipe, w_oi)).sum().item<double>(), 0.5 * plain);
}

}  // namespace
}  // namespace cupel::quant
