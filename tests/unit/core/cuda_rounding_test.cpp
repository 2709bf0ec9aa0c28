// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Rounding on a GPU against rounding on the host. Skipped where there is none.

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "core/code.h"
#include "core/feedback.h"
#include "core/model.h"
#include "kernels/cuda/columns.h"
#include "tests/unit/core/layouts_to_check.h"
#include "tests/unit/core/quant_data.h"

namespace cupel::core {
namespace {

using testing::correlated_inputs;
using testing::error_under;
using testing::normals;
using testing::stats_of;

class CudaRounding : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = device_from_name("auto");
    if (!device_.is_cuda()) GTEST_SKIP() << "no GPU";
    if (!cupel::kernels::cuda::built()) GTEST_SKIP() << "built without CUDA kernels";
  }
  at::Tensor on_gpu(const at::Tensor& t) const { return t.to(device_); }
  at::Device device_ = at::kCPU;
};

void expect_same_arrays(const format::WeightCode& a, const format::WeightCode& b) {
  ASSERT_EQ(a.arrays.size(), b.arrays.size());
  for (const auto& [name, array] : a.arrays)
    EXPECT_EQ(array.bytes, b.arrays.at(name).bytes) << name;
}

TEST_F(CudaRounding, PlainRoundingGivesTheHostsBits) {
  for (const auto& layout : testing::layouts_to_check())
    for (const ScaleRule rule : {ScaleRule::minmax, ScaleRule::mse})
      for (const auto& [rows, cols] : {std::pair{37, 200}, {64, 256}, {1, 33}}) {
        SCOPED_TRACE(cat(layout->name(), " ", layout->description(), " ", rows, "x", cols));
        at::Tensor w_oi = normals({rows, cols}, "w") * 0.02;
        w_oi[0].fill_(0);
        if (rows > 2) w_oi[2].fill_(0.01f);
        const Metric metric{.weight = normals({cols}, "h").square() + 0.01, .tile_i = {}};
        const auto code = make_code(layout, rule);
        expect_same_arrays(encode(*code, on_gpu(w_oi), metric, nullptr),
                           encode(*code, w_oi, metric, nullptr));
      }
}

TEST_F(CudaRounding, WeightsOfErrorsByRow) {
  const auto code = make_code(format::make_layout("uniform", R"({"bits":3})"), ScaleRule::mse);
  const at::Tensor w_oi = normals({50, 192}, "w");
  const Metric metric{.weight = normals({50, 192}, "h").square(), .tile_i = {}};
  expect_same_arrays(encode(*code, on_gpu(w_oi), metric, nullptr),
                     encode(*code, w_oi, metric, nullptr));
}

TEST_F(CudaRounding, FactorsAgree) {
  const Stats stats = stats_of(correlated_inputs(600, 200, "x"));
  const Factor host = factorise(stats.second_moment_ii, stats.tokens, 1, {});
  const Factor gpu = factorise(on_gpu(stats.second_moment_ii), stats.tokens, 1, {});
  ASSERT_TRUE(gpu.usable());
  EXPECT_TRUE(gpu.feedback_pp.is_cuda());
  EXPECT_EQ(gpu.inputs, host.inputs);
  EXPECT_EQ(gpu.damp, host.damp);
  EXPECT_LT((gpu.feedback_pp.cpu() - host.feedback_pp).abs().max().item<double>(), 1e-5);
  ASSERT_EQ(gpu.metric.size(), host.metric.size());
  for (std::size_t p = 0; p < host.metric.size(); ++p)
    EXPECT_NEAR(gpu.metric[p], host.metric[p], 1e-9 * host.metric[p]);
}

TEST_F(CudaRounding, FeedbackIsAsGoodAsTheHosts) {
  const at::Tensor x_ti = correlated_inputs(900, 300, "x");
  const Stats stats = stats_of(x_ti);
  const at::Tensor w_oi = normals({70, 300}, "w") * 0.05;
  for (const auto& layout : testing::layouts_to_check()) {
    SCOPED_TRACE(cat(layout->name(), " ", layout->description()));
    const auto code = make_code(layout, ScaleRule::mse);
    const Factor host = factorise(stats.second_moment_ii, stats.tokens, code->tile().cols, {});
    const Factor gpu =
        factorise(on_gpu(stats.second_moment_ii), stats.tokens, code->tile().cols, {});
    const double on_host = error_under(stats, w_oi, decode(encode(*code, w_oi, {}, &host)));
    const double on_gpu_error =
        error_under(stats, w_oi, decode(encode(*code, on_gpu(w_oi), {}, &gpu)));
    const double plain = error_under(stats, w_oi, decode(encode(*code, w_oi, {}, nullptr)));
    EXPECT_LE(on_gpu_error, plain);  // both 0 where the layout stores float32
    EXPECT_NEAR(on_gpu_error, on_host, 0.05 * on_host);
  }
}

TEST_F(CudaRounding, AlmostAllCodesAreTheHosts) {
  const Stats stats = stats_of(correlated_inputs(900, 300, "x"));
  const at::Tensor w_oi = normals({70, 300}, "w") * 0.05;
  const Factor host = factorise(stats.second_moment_ii, stats.tokens, 1, {});
  const auto code = make_code(format::make_layout("uniform", R"({"bits":4})"), ScaleRule::mse);
  const auto a = encode(*code, w_oi, {}, &host), b = encode(*code, on_gpu(w_oi), {}, &host);
  const auto x = a.arrays.at("codes").as<uint8_t>(), y = b.arrays.at("codes").as<uint8_t>();
  int64_t differ = 0;
  for (std::size_t i = 0; i < x.size(); ++i) differ += x[i] != y[i];
  EXPECT_LT(static_cast<double>(differ), 0.01 * static_cast<double>(x.size()));
}

TEST_F(CudaRounding, RowGroupsHaveTheirOwnFactors) {
  const Stats first = stats_of(correlated_inputs(900, 160, "x")),
              second = stats_of(correlated_inputs(900, 160, "y"));
  const auto factor = [&](const Stats& s) {
    return std::make_shared<const Factor>(factorise(on_gpu(s.second_moment_ii), s.tokens, 1, {}));
  };
  const auto a = factor(first), b = factor(second);
  const at::Tensor w_oi = on_gpu(normals({40, 160}, "w"));
  // NVFP4 has one outer scale for the whole matrix, uniform grids belong to their rows.
  const auto code =
      make_code(format::make_layout("uniform", R"({"bits":3,"group":32})"), ScaleRule::minmax);
  const FeedbackPlan plan{.rows = {{.begin = 0, .end = 13, .factor = a, .moment_ii = {}},
                                   {.begin = 13, .end = 40, .factor = b, .moment_ii = {}}}};
  const at::Tensor both = decode(encode(*code, w_oi, {}, plan));
  const at::Tensor top = decode(encode(*code, w_oi.slice(0, 0, 13), {}, a.get()));
  const at::Tensor bottom = decode(encode(*code, w_oi.slice(0, 13), {}, b.get()));
  EXPECT_EQ((both.slice(0, 0, 13) - top).abs().max().item<double>(), 0);
  EXPECT_EQ((both.slice(0, 13) - bottom).abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace cupel::core
