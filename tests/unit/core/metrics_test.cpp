// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Each metric against the loss that it names.
#include "core/metric.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <gtest/gtest.h>

#include "core/activations.h"
#include "core/rounded_input.h"
#include "core/tensor_util.h"
#include "tests/unit/core/quant_data.h"

namespace cupel::core {
namespace {

using testing::correlated_inputs;
using testing::error_under;
using testing::normals;
using testing::stats_of;

constexpr int64_t kTokens = 400, kInputs = 96, kOutputs = 48;

struct Case {
  MatrixGroup group;
  Stats stats;
  GradientStats gradient;
  at::Tensor x_ti, g_to;
};

Case make_case() {
  Case c;
  c.x_ti = correlated_inputs(kTokens, kInputs, "x");
  // Gradients that depend on the token and are correlated between outputs.
  c.g_to = correlated_inputs(kTokens, kOutputs, "g") * normals({kTokens, 1}, "token").exp();
  c.stats = stats_of(c.x_ti);
  c.group = {.id = "layer",
             .names = {"layer.weight"},
             .weights_oi = {normals({kOutputs, kInputs}, "w")},
             .gradients = {}};
  GradientStats& s = c.gradient;
  s.tokens = kTokens;
  s.sequences = 1;
  s.output_moment_oo = at::matmul(c.g_to.t(), c.g_to).to(at::kDouble);
  s.guided_qii = at::zeros({2, kInputs, kInputs}, at::kDouble);
  for (int64_t q = 0; q < 2; ++q) {
    const at::Tensor weight_t = c.g_to.slice(1, 24 * q, 24 * (q + 1)).square().mean(1, true);
    s.guided_qii[q].copy_(at::matmul((c.x_ti * weight_t).t(), c.x_ti));
  }
  s.fisher_oi = normals({kOutputs, kInputs}, "fisher").exp();
  return c;
}

at::Tensor rounded(const Case& c, const char* metric, int passes = 0) {
  const auto layout = format::make_layout("uniform", R"({"bits":3,"group":32})");
  const auto code = make_code(layout, ScaleRule::mse);
  Choice choice(metric_alternatives(), metric);
  const auto provider = make_metric(choice);
  MatrixGroup group = c.group;
  group.gradients = {&c.gradient};
  const auto results = round_group(
      group, c.stats,
      {.code = *code, .transform = {}, .metric = *provider, .feedback = {}, .passes = passes});
  EXPECT_EQ(results.front().fallback, "");
  return decode(results.front().code);
}

double guided_loss(const Case& c, const at::Tensor& v_oi) {
  const at::Tensor e = (c.group.weights_oi[0] - v_oi).to(at::kDouble);
  double sum = 0;
  for (int64_t q = 0; q < 2; ++q) {
    const at::Tensor part = e.slice(0, 24 * q, 24 * (q + 1));
    sum += (at::matmul(part, c.gradient.guided_qii[q]) * part).sum().item<double>();
  }
  return sum;
}

double two_sided_loss(const Case& c, const at::Tensor& v_oi) {
  const at::Tensor e = (c.group.weights_oi[0] - v_oi).to(at::kDouble);
  return (at::matmul(c.gradient.output_moment_oo, at::matmul(e, c.stats.second_moment_ii)) * e)
      .sum()
      .item<double>();
}

TEST(Metrics, EachIsBestAtItsOwnLoss) {
  const Case c = make_case();
  const at::Tensor activation = rounded(c, "activation"), guided = rounded(c, "guided"),
                   two_sided = rounded(c, "two-sided");
  EXPECT_LT(guided_loss(c, guided), 0.95 * guided_loss(c, activation));
  EXPECT_LT(two_sided_loss(c, two_sided), 0.8 * two_sided_loss(c, activation));
  EXPECT_LT(error_under(c.stats, c.group.weights_oi[0], activation),
            error_under(c.stats, c.group.weights_oi[0], guided));
}

TEST(Metrics, TwoSidedWithIndependentOutputsIsOneSided) {
  Case c = make_case();
  c.gradient.output_moment_oo = at::ones({kOutputs}, at::kDouble).diag();
  EXPECT_TRUE(at::equal(rounded(c, "two-sided"), rounded(c, "activation")));
}

TEST(Metrics, CoordinateDescentLowersTheLoss) {
  const Case c = make_case();
  const auto loss = [&](int passes) {
    return error_under(c.stats, c.group.weights_oi[0], rounded(c, "activation", passes));
  };
  const double none = loss(0), one = loss(1), four = loss(4);
  EXPECT_LT(one, none);
  EXPECT_LE(four, one * (1 + 1e-9));
}

TEST(Metrics, CoordinateDescentDescendsTheLossOfEachGroupOfOutputs) {
  const Case c = make_case();
  EXPECT_LT(guided_loss(c, rounded(c, "guided", 1)), guided_loss(c, rounded(c, "guided")));
}

TEST(Metrics, AMissingGradientIsAFallbackThatIsNamed) {
  const Case c = make_case();
  const auto code =
      make_code(format::make_layout("uniform", R"({"bits":3,"group":32})"), ScaleRule::mse);
  for (const char* name : {"fisher", "guided", "two-sided"}) {
    const auto metric = make_metric(Choice(metric_alternatives(), name));
    const auto results = round_group(
        c.group, c.stats,
        {.code = *code, .transform = {}, .metric = *metric, .feedback = {}, .block = {}});
    EXPECT_EQ(results.front().fallback, "metric activation: no gradient of the loss reached it")
        << name;
    EXPECT_TRUE(at::equal(decode(results.front().code), rounded(c, "activation"))) << name;
  }
}

/// A case whose inputs are not those of the original: noise, and a part that was lost.
Case drifted_case(at::Tensor& original_ti) {
  Case c = make_case();
  original_ti = c.x_ti;
  c.x_ti = 0.8 * c.x_ti + 0.2 * c.x_ti.roll(1, 1) + 0.1 * normals({kTokens, kInputs}, "drift");
  c.stats = {};
  c.stats.add({.second_moment = true, .inputs = true, .cross_moment = true}, c.x_ti, original_ti);
  return c;
}

/// |W x - V x~|^2 over the tokens, x~ as given.
double drifted_loss(const Case& c, const at::Tensor& original_ti, const at::Tensor& now_ti,
                    const at::Tensor& v_oi) {
  const at::Tensor e =
      at::matmul(original_ti.to(at::kDouble), c.group.weights_oi[0].t().to(at::kDouble)) -
      at::matmul(now_ti.to(at::kDouble), v_oi.t().to(at::kDouble));
  return (e * e).sum().item<double>();
}

TEST(Metrics, AsymmetricAimsAtTheRegressionOfTheOriginalsOutput) {
  at::Tensor original_ti;
  const Case c = drifted_case(original_ti);
  const auto provider = make_metric(Choice(metric_alternatives(), "asymmetric"));
  const format::InputTransform identity;
  const PreparedMetric prepared = provider->prepare({.group = c.group,
                                                     .matrix = 0,
                                                     .stats = c.stats,
                                                     .transform = identity,
                                                     .feedback = {.damp = 0},
                                                     .with_feedback = false});
  const auto code =
      make_code(format::make_layout("uniform", R"({"bits":3,"group":32})"), ScaleRule::mse);
  const at::Tensor target =
      target_of(c.group.weights_oi[0], prepared,
                {.code = *code, .transform = identity, .metric = *provider, .feedback = {}});
  // The oracle: least squares in float64 by the inputs themselves.
  const at::Tensor x = c.x_ti.to(at::kDouble), w = c.group.weights_oi[0].to(at::kDouble);
  const at::Tensor y = at::matmul(original_ti.to(at::kDouble), w.t());
  const at::Tensor best = at::linalg_solve(at::matmul(x.t(), x), at::matmul(x.t(), y)).t();
  const auto loss = [&](const at::Tensor& v) { return drifted_loss(c, original_ti, c.x_ti, v); };
  EXPECT_LT(loss(target), (1 + 1e-4) * loss(best));
  EXPECT_GT(loss(c.group.weights_oi[0]), 2 * loss(best));
}

TEST(Metrics, AsymmetricLowersTheErrorAgainstTheOriginalsOutput) {
  at::Tensor original_ti;
  const Case c = drifted_case(original_ti);
  const double plain = drifted_loss(c, original_ti, c.x_ti, rounded(c, "activation")),
               shifted = drifted_loss(c, original_ti, c.x_ti, rounded(c, "asymmetric"));
  EXPECT_LT(shifted, 0.5 * plain);
  EXPECT_LT(drifted_loss(c, original_ti, c.x_ti, rounded(c, "asymmetric", 1)), shifted);
}

TEST(Metrics, AsymmetricOfTheOriginalsOwnInputsIsActivation) {
  const Case c = make_case();
  EXPECT_TRUE(at::equal(rounded(c, "asymmetric"), rounded(c, "activation")));
}

TEST(Metrics, AsymmetricTakesInputsAsTheyWillBeRounded) {
  at::Tensor original_ti;
  Case c = drifted_case(original_ti);
  Choice int4(activation_alternatives(), "int4");
  const at::Tensor now_ti = round_input({format::InputRounding::Numbers::integer, 4, 0, 0}, c.x_ti);
  const double unaware = drifted_loss(c, original_ti, now_ti, rounded(c, "activation"));
  c.group.activations = &int4;
  EXPECT_LT(drifted_loss(c, original_ti, now_ti, rounded(c, "asymmetric")), 0.5 * unaware);
  // The same from sums of the rounded inputs: the kept ones are what they were made of.
  Case sums = c;
  sums.stats = {};
  sums.stats.add({.second_moment = true, .cross_moment = true}, now_ti, original_ti);
  EXPECT_TRUE(at::allclose(rounded(c, "asymmetric"), rounded(sums, "asymmetric"), 1e-3, 1e-3));
}

TEST(Metrics, AsymmetricWithoutTheOriginalIsAFallbackThatIsNamed) {
  Case c = make_case();
  c.stats = {};
  c.stats.add({.second_moment = true}, c.x_ti);
  const auto code =
      make_code(format::make_layout("uniform", R"({"bits":3,"group":32})"), ScaleRule::mse);
  const auto metric = make_metric(Choice(metric_alternatives(), "asymmetric"));
  const auto results = round_group(
      c.group, c.stats, {.code = *code, .transform = {}, .metric = *metric, .feedback = {}});
  EXPECT_EQ(results.front().fallback,
            "metric activation: the original's inputs at its tokens are not known");
  EXPECT_TRUE(at::equal(decode(results.front().code), rounded(c, "activation")));
}

TEST(Metrics, FisherWeightsTheScales) {
  const Case c = make_case();
  const auto layout = format::make_layout("row-table", R"({"bits":3})");
  const auto code = make_code(layout, ScaleRule::mse);
  MatrixGroup group = c.group;
  group.gradients = {&c.gradient};
  const auto loss = [&](const char* metric) {
    const auto provider = make_metric(Choice(metric_alternatives(), metric));
    const auto results = round_group(group, c.stats,
                                     {.code = *code,
                                      .transform = {},
                                      .metric = *provider,
                                      .feedback = {},
                                      .with_feedback = false});
    const at::Tensor e = c.group.weights_oi[0] - decode(results.front().code);
    return (c.gradient.fisher_oi * e * e).sum().item<double>();
  };
  EXPECT_LT(loss("fisher"), 0.9 * loss("none"));
}

}  // namespace
}  // namespace cupel::core
