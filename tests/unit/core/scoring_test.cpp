// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Scorer, sampling, statistics and tensor conversions.

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "core/sampling.h"
#include "core/scorer.h"
#include "core/stats.h"
#include "core/tensor_util.h"
#include "format/layouts/dense.h"
#include "tiny_model.h"

namespace cupel::core {
namespace {

using format::Role;

std::vector<text::Token> tokens_of(const at::Tensor& ids) {
  std::vector<text::Token> out;
  for (int64_t i = 0; i < ids.numel(); ++i)
    out.push_back(static_cast<text::Token>(ids.flatten()[i].item<int64_t>()));
  return out;
}

TEST(ScorerTest, HandsOverAllRowsInPieces) {
  Model model = lively_model(tiny_config(), 1);
  const at::Tensor ids_nt = random_ids(1, 300, 37, 2);
  const at::Tensor expected = model.forward(ids_nt)[0];
  const auto scorer = make_scorer(model, "tiny");
  EXPECT_EQ(scorer->description(), "tiny (LibTorch, float32)");
  for (const int64_t from : {0, 17, 299}) {
    int64_t next = from;
    scorer->score(tokens_of(ids_nt), from, [&](const text::LogitRows& rows) {
      EXPECT_EQ(rows.first, next);
      EXPECT_LE(rows.rows, 256);
      for (int64_t r = 0; r < rows.rows; ++r)
        for (int64_t v = 0; v < 37; ++v)
          ASSERT_NEAR(rows.row(r)[static_cast<std::size_t>(v)],
                      expected[rows.first + r][v].item<float>(), 1e-4);
      next += rows.rows;
    });
    EXPECT_EQ(next, 300);
  }
}

TEST(ScorerTest, NamesThePositionOfBadLogits) {
  Model model = lively_model(tiny_config(), 1);
  std::vector<text::Token> ids(20, 3);
  ids[11] = 5;
  model.embedding()[5].fill_(std::numeric_limits<float>::quiet_NaN());
  const auto message_of = [&](Model& broken) -> std::string {
    try {
      make_scorer(broken, "tiny")->score(ids, 0, [](const text::LogitRows&) {});
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::data);
      return e.message();
    }
    return "no error";
  };
  EXPECT_NE(message_of(model).find("starts at position 11 in the embedding of token 5"),
            std::string::npos);
  Model other = lively_model(tiny_config(), 1);
  other.layer(1).of(Role::up).mul_(std::numeric_limits<float>::max());
  EXPECT_NE(message_of(other).find("starts at position 0 in layer 1"), std::string::npos)
      << message_of(other);
}

TEST(ScorerTest, RefusesWhatTheModelCannotTake) {
  Model model = lively_model(tiny_config(), 1);
  const auto scorer = make_scorer(model, "tiny");
  const auto fault_of = [&](const std::vector<text::Token>& ids) {
    try {
      scorer->score(ids, 0, [](const text::LogitRows&) {});
    } catch (const Error& e) {
      return e.fault();
    }
    return Fault::internal;
  };
  EXPECT_EQ(fault_of({1, 2, 37}), Fault::user);
  EXPECT_EQ(fault_of({1, -1}), Fault::user);
  EXPECT_EQ(fault_of({}), Fault::user);
  EXPECT_EQ(fault_of(std::vector<text::Token>(513, 1)), Fault::user);
}

TEST(SamplingTest, GreedyIsArgmaxOfTheWholeForward) {
  Model model = lively_model(tiny_config(), 5);
  const at::Tensor prompts = random_ids(3, 4, 37, 8);
  at::Tensor ids = sample(model, prompts, 12, 0, Rng(1));
  ASSERT_EQ(ids.sizes(), at::IntArrayRef({3, 16}));
  EXPECT_TRUE(at::equal(ids.slice(1, 0, 4), prompts));
  const at::Tensor best = model.forward(ids).argmax(-1);
  EXPECT_TRUE(at::equal(best.slice(1, 3, 15), ids.slice(1, 4, 16)));
}

TEST(SamplingTest, SequencesDrawFromStreamsOfTheirOwn) {
  Model model = lively_model(tiny_config(), 5);
  const at::Tensor prompts = random_ids(1, 4, 37, 8).expand({4, 4});
  const at::Tensor all = sample(model, prompts, 20, 1.0, Rng(7));
  EXPECT_TRUE(at::equal(all, sample(model, prompts, 20, 1.0, Rng(7))));
  EXPECT_FALSE(at::equal(all[0], all[1]));
  EXPECT_TRUE(
      at::equal(all.slice(0, 0, 2), sample(model, prompts.slice(0, 0, 2), 20, 1.0, Rng(7))));
}

TEST(SamplingTest, FrequenciesAreTheProbabilities) {
  Model model = lively_model(tiny_config(), 6);
  const at::Tensor prompt = random_ids(1, 5, 37, 9);
  const double temperature = 1.7;
  const at::Tensor p_v = at::softmax(model.forward(prompt)[0][4].to(at::kDouble) / temperature, -1);
  const int64_t draws = 4000;
  const at::Tensor ids =
      sample(model, prompt.expand({draws, 5}), 1, temperature, Rng(3)).select(1, 5);
  double chi_square = 0;
  for (int64_t v = 0; v < 37; ++v) {
    const double expected = p_v[v].item<double>() * static_cast<double>(draws);
    const double seen = static_cast<double>((ids == v).sum().item<int64_t>());
    chi_square += (seen - expected) * (seen - expected) / std::max(expected, 1.0);
  }
  EXPECT_LT(chi_square, 36 + 5 * std::sqrt(72.0));
}

TEST(StatsTest, SumsInDoublePrecision) {
  const at::Tensor x = (at::arange(3 * 700 * 8, at::kFloat) * 0.7).sin().reshape({3, 700, 8});
  Stats stats;
  const Needs needs{.second_moment = true, .absmax = true};
  stats.add(needs, x.slice(0, 0, 1));
  stats.add(needs, x.slice(0, 1, 3));
  const at::Tensor flat = x.reshape({-1, 8}).to(at::kDouble);
  EXPECT_EQ(stats.tokens, 2100);
  EXPECT_LT((stats.second_moment_ii - at::matmul(flat.t(), flat)).abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(at::equal(stats.absmax_i, flat.abs().amax(0)));
  EXPECT_TRUE(stats.finite());
  at::Tensor bad = x.slice(0, 0, 1).clone();
  bad[0][5][2] = std::numeric_limits<float>::infinity();
  stats.add(needs, bad);
  EXPECT_FALSE(stats.finite());
}

TEST(StatsTest, KeepsOnlyWhatIsNeeded) {
  Stats stats;
  stats.add({.absmax = true}, at::randn({4, 8}));
  EXPECT_FALSE(stats.second_moment_ii.defined());
  EXPECT_TRUE(stats.finite());
}

TEST(TensorUtilTest, ArraysRoundTrip) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kByte, at::kChar, at::kInt,
                                    at::kLong, at::kHalf, at::kBFloat16}) {
    const at::Tensor t = (at::randn({3, 5}) * 20).to(type);
    const at::Tensor back = tensor_of(array_of(t.t()));
    EXPECT_EQ(back.scalar_type(), type);
    EXPECT_TRUE(at::equal(back, t.t())) << c10::toString(type);
  }
}

TEST(TensorUtilTest, DecodedWeightUndoesTheTransform) {
  const at::Tensor w_oi = at::randn({4, 8});
  const at::Tensor x_ti = at::randn({6, 8});
  format::WeightCode code = format::dense_code(format::ElementType::f32, 4, 8, floats(w_oi));
  EXPECT_TRUE(at::equal(decoded_weight(code), w_oi));
  code.input.id = "test";
  code.input.hadamard = 4;
  code.input.scale = {1, 2, 0.5, 1, 3, 1, 1, 0.25};
  code.input.signs = {1, -1, 1, 1, -1, 1, 1, 1};
  at::Tensor transformed_ti = x_ti.clone();
  format::apply(code.input, transformed_ti.data_ptr<float>(), 6, 8);
  const at::Tensor expected = at::matmul(transformed_ti, w_oi.t());
  EXPECT_LT((at::matmul(x_ti, decoded_weight(code).t()) - expected).abs().max().item<double>(),
            1e-4);
}

}  // namespace
}  // namespace cupel::core
