// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/code.h"
#include "core/feedback.h"
#include "core/tensor_util.h"
#include "quant/learned_rounding.h"
#include "tests/unit/core/quant_data.h"

namespace cupel::quant {
namespace {

using core::testing::normals;

const char* const kLayouts[] = {
    R"({"bits":2,"group":32})", R"({"bits":3,"group":64})", R"({"bits":4,"group":0})",
    R"({"bits":3,"group":32,"symmetric":true})", R"({"bits":1,"group":32})"};

format::WeightCode plain(const std::string& layout, const at::Tensor& w_oi) {
  const auto code =
      core::make_code(format::make_layout("uniform", layout), core::ScaleRule::minmax);
  return core::encode(*code, w_oi, {}, nullptr);
}

/// e H e^T of each output in float64.
at::Tensor loss_o(const at::Tensor& w_oi, const at::Tensor& h_ii, const format::WeightCode& code) {
  const at::Tensor e = w_oi.to(at::kDouble) - core::decode(code).to(at::kDouble);
  return (at::matmul(e, h_ii.to(at::kDouble)) * e).sum(1);
}

at::Tensor moment(int64_t inputs) {
  const auto stats =
      core::testing::stats_of(core::testing::correlated_inputs(300, inputs, cat("x", inputs)));
  return stats.second_moment_ii / static_cast<double>(stats.tokens);
}

TEST(LearnedRounding, NoOutputIsWorseAndAllTogetherAreMuchBetter) {
  const int64_t inputs = 100;  // no group divides it
  const at::Tensor w_oi = 0.05 * normals({70, inputs}, "w"), h_ii = moment(inputs);
  for (const char* layout : kLayouts) {
    SCOPED_TRACE(layout);
    format::WeightCode code = plain(layout, w_oi);
    const at::Tensor before_o = loss_o(w_oi, h_ii, code);
    const RoundingLoss loss = learn_rounding(w_oi, h_ii, {.steps = 100}, code);
    const at::Tensor after_o = loss_o(w_oi, h_ii, code);
    EXPECT_TRUE((after_o <= before_o * (1 + 1e-4)).all().item<bool>());
    EXPECT_LT(after_o.sum().item<double>(), 0.6 * before_o.sum().item<double>());
    // What it says is what its codes decode to.
    EXPECT_NEAR(loss.before, before_o.sum().item<double>(), 1e-3 * loss.before);
    EXPECT_NEAR(loss.after, after_o.sum().item<double>(), 1e-3 * loss.after);
  }
}

TEST(LearnedRounding, WithoutClippingItComesNearTheBestOfAllRoundings) {
  constexpr int64_t kLive = 10, kInputs = 32, kOutputs = 24;
  at::Tensor w_oi = 0.05 * normals({kOutputs, kInputs}, "w");
  at::Tensor h_ii = moment(kInputs).clone();
  for (const int64_t axis : {0, 1}) h_ii.slice(axis, kLive).zero_();
  format::WeightCode code = plain(kLayouts[0], w_oi);
  const format::WeightCode start = code;
  const at::Tensor before_o = loss_o(w_oi, h_ii, start);
  learn_rounding(w_oi, h_ii, {.steps = 200, .smallest_clip = 1, .largest_clip = 1}, code);
  const at::Tensor after_o = loss_o(w_oi, h_ii, code);
  EXPECT_EQ(code.arrays.at("scales").bytes, start.arrays.at("scales").bytes);
  EXPECT_EQ(code.arrays.at("zeros").bytes, start.arrays.at("zeros").bytes);

  // Every way to round the live inputs of an output down or up.
  const at::Tensor scale_o = core::tensor_of(start.arrays.at("scales")).to(at::kDouble);
  const at::Tensor zero_o = core::tensor_of(start.arrays.at("zeros")).to(at::kDouble);
  double best_sum = 0;
  for (int64_t o = 0; o < kOutputs; ++o) {
    const double s = scale_o[o][0].item<double>(), z = zero_o[o][0].item<double>();
    double best = std::numeric_limits<double>::infinity();
    for (int choice = 0; choice < 1 << kLive; ++choice) {
      double e[kLive], loss = 0;
      for (int64_t i = 0; i < kLive; ++i) {
        const double w = w_oi[o][i].item<double>();
        const double k = std::floor(w / s) + (choice >> i & 1);
        e[i] = w - s * std::min(std::max(k, -z), 3 - z);
      }
      static double h[kLive][kLive];
      if (choice == 0)
        for (int64_t i = 0; i < kLive; ++i)
          for (int64_t j = 0; j < kLive; ++j) h[i][j] = h_ii[i][j].item<double>();
      for (int64_t i = 0; i < kLive; ++i)
        for (int64_t j = 0; j < kLive; ++j) loss += e[i] * h[i][j] * e[j];
      best = std::min(best, loss);
    }
    EXPECT_GE(after_o[o].item<double>(), best * (1 - 1e-4));
    best_sum += best;
  }
  const double before = before_o.sum().item<double>(), after = after_o.sum().item<double>();
  EXPECT_LT(best_sum, 0.8 * before);  // there is something to learn
  EXPECT_LT(after - best_sum, 0.6 * (before - best_sum));
}

TEST(LearnedRounding, WeightsGoToANeighbourAtMost) {
  const at::Tensor w_oi = 0.05 * normals({20, 64}, "w"), h_ii = moment(64);
  format::WeightCode code = plain(kLayouts[1], w_oi);
  const at::Tensor before = core::tensor_of(code.arrays.at("codes")).to(at::kInt);
  learn_rounding(w_oi, h_ii, {.steps = 60, .smallest_clip = 1, .largest_clip = 1}, code);
  const at::Tensor moved = (core::tensor_of(code.arrays.at("codes")).to(at::kInt) - before).abs();
  EXPECT_EQ(moved.max().item<int>(), 1);
}

TEST(LearnedRounding, ClippingAloneHelpsWhereInputsAreNotCorrelated) {
  const at::Tensor w_oi = 0.05 * normals({32, 128}, "w") * normals({32, 128}, "tail").abs();
  const at::Tensor h_ii = moment(128).diagonal().diag();
  format::WeightCode code = plain(R"({"bits":2,"group":64})", w_oi);
  const double before = loss_o(w_oi, h_ii, code).sum().item<double>();
  learn_rounding(w_oi, h_ii, {.steps = 100}, code);
  EXPECT_LT(loss_o(w_oi, h_ii, code).sum().item<double>(), 0.9 * before);
}

TEST(LearnedRounding, SameBytesOnAnyNumberOfThreads) {
  const at::Tensor w_oi = 0.05 * normals({200, 160}, "w"), h_ii = moment(160);
  format::WeightCode one = plain(kLayouts[1], w_oi), two = one;
  at::set_num_threads(1);
  learn_rounding(w_oi, h_ii, {.steps = 30}, one);
  at::set_num_threads(2);
  learn_rounding(w_oi, h_ii, {.steps = 30}, two);
  for (const auto& [name, array] : one.arrays) EXPECT_EQ(array.bytes, two.arrays.at(name).bytes);
}

}  // namespace
}  // namespace cupel::quant
