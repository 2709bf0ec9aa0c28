// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Rounded inputs in tensor operations against their definition, and in the model's forward pass.
#include "core/rounded_input.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/yaml.h"
#include "core/activations.h"
#include "core/quantizer.h"
#include "tests/unit/core/quant_data.h"
#include "tests/unit/core/tiny_model.h"

namespace cupel::core {
namespace {

using format::InputRounding;
using format::InputTransform;
using testing::normals;
using Numbers = InputRounding::Numbers;

constexpr int64_t kWidth = 96;

std::vector<InputTransform> transforms() {
  InputTransform scaled{"scaled", 0, {}, {}}, mixed{"mixed", 32, {}, {}},
      whole{"whole", 96, {}, {}};
  Rng rng(5, "transform");
  for (int64_t i = 0; i < kWidth; ++i) {
    scaled.scale.push_back(static_cast<float>(0.3 + rng.uniform()));
    mixed.signs.push_back(rng.below(2) != 0 ? 1 : -1);
  }
  whole.scale = scaled.scale;
  whole.signs = mixed.signs;
  return {{}, scaled, mixed, whole};  // 96 = 12 * 8: the factor's matrix is at work
}

std::vector<InputRounding> roundings() {
  return {{},
          {Numbers::integer, 8, 0, 0},
          {Numbers::integer, 4, 64, 0},  // the last group is short
          {Numbers::integer, 4, 32, 0, 0.8F},
          {Numbers::integer, 8, 0, 0.03F},
          {Numbers::e4m3, 8, 0, 0},
          {Numbers::e4m3, 8, 32, 0},
          {Numbers::e4m3, 8, 0, 0.01F}};
}

TEST(RoundedInput, TensorOperationsGiveTheBitsOfTheDefinition) {
  at::Tensor x = normals({7, kWidth}, "x");
  x[3].zero_();
  for (const InputTransform& t : transforms())
    for (const InputRounding& r : roundings()) {
      SCOPED_TRACE(t.id + " " + description(r));
      at::Tensor expected = x.clone();
      float* rows = expected.data_ptr<float>();
      format::apply(t, rows, 7, kWidth);
      EXPECT_TRUE(at::equal(transform_input(t, x), expected));
      for (int64_t n = 0; n < 7; ++n) format::round_row(r, rows + n * kWidth, kWidth);
      EXPECT_TRUE(at::equal(round_input(r, transform_input(t, x)), expected));
      format::undo(t, rows, 7, kWidth);
      EXPECT_TRUE(at::equal(rounded({t, r}, x), expected));
    }
}

TEST(RoundedInput, WithoutRoundingItIsTheInput) {
  const at::Tensor x = normals({5, kWidth}, "x");
  for (const InputTransform& t : transforms())
    EXPECT_TRUE(at::allclose(rounded({t, {}}, x), x, 1e-5, 1e-6)) << t.id;
}

TEST(RoundedInput, GradientsPassStraightThrough) {
  const at::Tensor x = normals({4, kWidth}, "x").requires_grad_(true);
  for (const InputTransform& t : transforms()) {
    x.mutable_grad() = at::Tensor();
    rounded({t, {Numbers::integer, 8, 0, 0}}, x).sum().backward();
    EXPECT_TRUE(at::allclose(x.grad(), at::ones_like(x), 1e-4, 1e-5)) << t.id;
  }
}

/// Rounding whose decisions are those at `from`: x passes unless it was clipped, and the scale
/// moves.
at::Tensor frozen(const InputRounding& r, const at::Tensor& from, const at::Tensor& x) {
  const auto scale = [&](const at::Tensor& of) {
    return r.dynamic() ? of.abs().amax(-1, true) * (r.clip / largest_level(r))
                       : at::ones_like(of) * r.scale;
  };
  const at::Tensor s0 = scale(from), s = scale(x), z0 = round_input(r, from);
  const at::Tensor inside = (from.abs() <= 1.00001 * s0 * largest_level(r)).to(at::kDouble);
  return s * (z0 / s0 - inside * from / s0) + inside * x;
}

TEST(RoundedInput, ItsGradientIsThatOfItsScaleToo) {
  const at::Tensor x = normals({3, 24}, "x"), g = normals({3, 24}, "g");
  constexpr double kStep = 1e-3;
  for (const InputRounding& r :
       {InputRounding{Numbers::integer, 4, 0, 0}, InputRounding{Numbers::integer, 4, 0, 0, 0.7F},
        InputRounding{Numbers::integer, 4, 0, 0.2F}, InputRounding{Numbers::e4m3, 8, 0, 0}}) {
    SCOPED_TRACE(description(r));
    const at::Tensor found = rounding_gradient(r, x, round_input(r, x), g);
    for (int64_t i = 0; i < x.size(1); ++i) {
      const auto moved = [&](double step) {
        at::Tensor y = x.to(at::kDouble).clone();
        y.select(1, i).add_(step);
        return (frozen(r, x.to(at::kDouble), y) * g).sum(1);
      };
      const at::Tensor expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_TRUE(at::allclose(found.select(1, i).to(at::kDouble), expected, 1e-3, 1e-3)) << i;
    }
  }
  const InputRounding in_groups{Numbers::integer, 4, 16, 0};  // the last group is short
  const at::Tensor z = round_input(in_groups, x), by_groups = rounding_gradient(in_groups, x, z, g);
  const InputRounding whole{Numbers::integer, 4, 0, 0};
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{0, 16}, {16, 24}}) {
    const auto part = [&, from = from, to = to](const at::Tensor& t) {
      return t.slice(1, from, to);
    };
    EXPECT_TRUE(at::equal(part(by_groups), rounding_gradient(whole, part(x), part(z), part(g))));
  }
}

TEST(RoundedInput, TheModelRoundsWhatAMatrixReads) {
  const c10::NoGradGuard no_grad;
  Model plain = lively_model(tiny_config(), 3);
  Model model = plain;
  const auto ids = random_ids(1, 9, 37, 4);
  const format::WeightId up{format::Role::up, 1}, gate{format::Role::gate, 1},
      head{format::Role::embedding};
  const format::RoundedInput int4{{}, {Numbers::integer, 4, 0, 0}};
  for (const auto& id : {up, gate, head}) model.set_input(id, int4);
  at::Tensor seen, seen_by_up;
  const ProductHook hook = [&](const format::WeightId& id, const at::Tensor& x,
                               const at::Tensor& y) {
    if (id == gate) seen = x;
    if (id == up) seen_by_up = x;
    return y;
  };
  at::Tensor raw;
  const Tap tap = [&](const format::WeightId& first, const at::Tensor& x) {
    if (first == gate) raw = x;
    return true;
  };
  at::Tensor x = model.embed(ids);
  for (int l = 0; l < model.layers(); ++l) x = model.block(l, x, tap, nullptr, hook);
  EXPECT_TRUE(seen_by_up.is_same(seen)) << "rounded once";
  EXPECT_TRUE(at::equal(seen, rounded(int4, raw)));
  EXPECT_FALSE(at::equal(seen, raw));
  EXPECT_TRUE(
      at::equal(model.logits(x), at::linear(rounded(int4, model.normalized(x)), model.head())));
  EXPECT_FALSE(at::allclose(model.forward(ids), plain.forward(ids), 1e-3, 1e-3))
      << "a copy's inputs";
  for (const auto& id : {up, gate, head}) model.set_input(id, {});
  EXPECT_TRUE(at::equal(model.forward(ids), plain.forward(ids)));
}

QuantizerParams params_of(const std::string& activations) {
  QuantizerParams params;
  const Document document = Document::from_text(cat("{activations: ", activations, "}"), "recipe");
  std::vector<Problem> problems;
  read_params(document.root(), params, problems);
  CUPEL_CHECK(problems.empty(), user, document.format(problems));
  return params;
}

MatrixResult decide(const std::string& activations, const InputTransform& t, const Stats& stats) {
  const QuantizerParams params = params_of(activations);
  std::vector<MatrixResult> results(2);
  for (MatrixResult& r : results) r.code.input = t;
  round_inputs(params.activations, results, stats);
  EXPECT_EQ(results[0].code.rounding, results[1].code.rounding);
  return results[0];
}

Stats stats_of(const std::vector<at::Tensor>& pieces) {
  Stats stats;
  for (const at::Tensor& x : pieces) stats.add({.inputs = true}, x);
  return stats;
}

double static_error(const Stats& stats, const InputTransform& t, InputRounding r, float scale) {
  r.scale = scale;
  double sum = 0;
  for (const at::Tensor& x : stats.inputs) {
    const at::Tensor y = transform_input(t, x);
    sum += (y - round_input(r, y)).square().sum(at::kDouble).item<double>();
  }
  return sum;
}

TEST(Activations, AStaticScaleIsTheBestOfAFineSearchAfterTheTransform) {
  const Stats stats = stats_of({normals({300, kWidth}, "a"), 3 * normals({100, kWidth}, "b")});
  for (const InputTransform& t : transforms())
    for (const char* numbers : {"int8", "int4", "fp8"}) {
      SCOPED_TRACE(t.id + " " + numbers);
      const MatrixResult r = decide(cat("{", numbers, ": {scale: static}}"), t, stats);
      EXPECT_EQ(r.fallback, "");
      EXPECT_EQ(r.note, "inputs " + description(r.code.rounding));
      const InputRounding& found = r.code.rounding;
      const double error = static_error(stats, t, found, found.scale);
      for (float ratio = 0.4F; ratio < 2; ratio += 0.1F)
        EXPECT_LE(error, 1.02 * static_error(stats, t, found, ratio * found.scale)) << ratio;
    }
}

TEST(Activations, WithoutUsableInputsEachTokenHasItsScaleAndThatIsSaid) {
  const at::Tensor x = normals({4, kWidth}, "x");
  at::Tensor bad = x.clone();
  bad[1][2].fill_(INFINITY);
  const std::pair<Stats, const char*> cases[] = {
      {Stats{}, "no calibration token"},
      {stats_of({bad}), "NaN or infinity"},
      {stats_of({at::zeros_like(x)}), "zero at every token"}};
  for (const auto& [stats, why] : cases) {
    const MatrixResult r = decide("{int8: {scale: static}}", {}, stats);
    EXPECT_EQ(r.code.rounding, (InputRounding{Numbers::integer, 8, 0, 0}));
    EXPECT_NE(r.fallback.find(why), std::string::npos) << r.fallback;
  }
  EXPECT_EQ(decide("int8", {}, Stats{}).fallback, "") << "a dynamic scale needs no calibration";
  EXPECT_TRUE(decide("none", {}, Stats{}).code.rounding.none());
  EXPECT_EQ(decide("{fp8: {group: 32}}", {}, Stats{}).code.rounding,
            (InputRounding{Numbers::e4m3, 8, 32, 0}));
}

TEST(Activations, RecipesAreChecked) {
  EXPECT_THROW(params_of("int3"), Error);
  EXPECT_THROW(params_of("{int8: {scale: sometimes}}"), Error);
  EXPECT_THROW(params_of("{int8: {scale: static, group: 32}}"), Error);
  EXPECT_TRUE(activation_needs(params_of("{fp8: {scale: static}}").activations).inputs);
  EXPECT_FALSE(activation_needs(params_of("fp8").activations).any());
}

}  // namespace
}  // namespace cupel::core
