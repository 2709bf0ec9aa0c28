// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/transform.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "core/tensor_util.h"
#include "tests/unit/core/quant_data.h"

namespace cupel::core {
namespace {

using testing::correlated_inputs;
using testing::error_under;
using testing::normals;

Choice hadamard_of(int block) {
  Choice choice(transform_alternatives(), "hadamard");
  auto params = std::make_shared<HadamardParams>();
  params->block = block;
  choice.params = params;
  return choice;
}

format::InputTransform scaled_transform(int64_t inputs, int block) {
  format::InputTransform t = make_transform(hadamard_of(block), "group", inputs, Rng(3));
  for (int64_t i = 0; i < inputs; ++i) t.scale.push_back(0.5f + 0.125f * static_cast<float>(i % 9));
  return t;
}

TEST(Transform, WeightTimesInputIsKept) {
  const format::InputTransform t = scaled_transform(96, 32);
  const at::Tensor w_oi = normals({5, 96}, "w"), x_ti = normals({7, 96}, "x");
  at::Tensor tx_ti = x_ti.clone();
  format::apply(t, tx_ti.mutable_data_ptr<float>(), 7, 96);
  const at::Tensor y = at::matmul(x_ti, w_oi.t()),
                   y2 = at::matmul(tx_ti, transform_weight(t, w_oi).t());
  EXPECT_TRUE(at::allclose(y, y2, 1e-4, 1e-4));
}

TEST(Transform, UndoneOnWeightIsTheIdentity) {
  const format::InputTransform t = scaled_transform(96, 32);
  const at::Tensor w_oi = normals({5, 96}, "w");
  at::Tensor back = transform_weight(t, w_oi).contiguous();
  format::undo_on_weight(t, back.mutable_data_ptr<float>(), 5, 96);
  EXPECT_TRUE(at::allclose(back, w_oi, 1e-5, 1e-5));
}

TEST(Transform, SecondMomentIsThatOfTransformedInputs) {
  const format::InputTransform t = scaled_transform(64, 16);
  const at::Tensor x_ti = correlated_inputs(200, 64, "x");
  at::Tensor tx_ti = x_ti.clone();
  format::apply(t, tx_ti.mutable_data_ptr<float>(), 200, 64);
  const at::Tensor h = transform_second_moment(t, testing::stats_of(x_ti).second_moment_ii);
  const at::Tensor expected = testing::stats_of(tx_ti).second_moment_ii;
  EXPECT_LT((h - expected).abs().max().item<double>(), 1e-5 * expected.abs().max().item<double>());
}

TEST(Transform, ErrorUnderTheMomentDoesNotChange) {
  const format::InputTransform t = scaled_transform(64, 64);
  const Stats stats = testing::stats_of(correlated_inputs(200, 64, "x"));
  const at::Tensor w = normals({20, 64}, "w"), v = w + 0.1 * normals({20, 64}, "error");
  Stats after = stats;
  after.second_moment_ii = transform_second_moment(t, stats.second_moment_ii);
  const double error = error_under(stats, w, v);
  EXPECT_NEAR(error_under(after, transform_weight(t, w), transform_weight(t, v)), error,
              1e-4 * error);
}

TEST(Transform, NoneIsTheIdentity) {
  const auto t = make_transform(Choice(transform_alternatives(), "none"), "group", 64, Rng(3));
  EXPECT_TRUE(t.identity());
  EXPECT_EQ(t.id, "");
  const at::Tensor w = normals({3, 64}, "w");
  EXPECT_TRUE(at::equal(transform_weight(t, w), w));
}

TEST(Transform, SignsComeFromSeedAndGroup) {
  const Choice choice = hadamard_of(32);
  const auto a = make_transform(choice, "a", 64, Rng(3)),
             again = make_transform(choice, "a", 64, Rng(3));
  const auto b = make_transform(choice, "b", 64, Rng(3)),
             other = make_transform(choice, "a", 64, Rng(4));
  EXPECT_EQ(a.signs, again.signs);
  EXPECT_EQ(a.id, again.id);
  EXPECT_NE(a.signs, b.signs);
  EXPECT_NE(a.signs, other.signs);
  EXPECT_NE(a.id, other.id);
}

TEST(Transform, BlockShrinksUntilItDividesTheInputs) {
  const auto block = [](int wanted, int64_t inputs) {
    return make_transform(hadamard_of(wanted), "g", inputs, Rng(3)).hadamard;
  };
  EXPECT_EQ(block(128, 1536), 128);
  EXPECT_EQ(block(128, 576), 64);
  EXPECT_EQ(block(128, 200), 8);
  EXPECT_EQ(block(128, 257), 0);
  const Choice wanted = hadamard_of(128);
  EXPECT_EQ(transform_note(wanted, make_transform(wanted, "g", 1536, Rng(3)), 1536), "");
  EXPECT_EQ(transform_note(wanted, make_transform(wanted, "g", 576, Rng(3)), 576),
            "hadamard block 64 (128 does not divide 576 inputs)");
  EXPECT_EQ(transform_note(wanted, make_transform(wanted, "g", 257, Rng(3)), 257),
            "no hadamard (128 does not divide 257 inputs)");
}

}  // namespace
}  // namespace cupel::core
