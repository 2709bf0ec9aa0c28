// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// J against its definition, and the claims of quant.unified: it never ends above where it started,
// and each of its parts lowers J where it has something to work on.
#include <ATen/Parallel.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "core/activations.h"
#include "core/code.h"
#include "core/feedback.h"
#include "core/product.h"
#include "core/rounded_input.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "quant/joint_learning.h"
#include "quant/output_metric.h"
#include "tests/unit/core/quant_data.h"
#include "tests/unit/quant/methods_for_test.h"

namespace cupel::quant {
namespace {

using core::testing::correlated_inputs;
using core::testing::normals;

constexpr int64_t kTokens = 150, kInputs = 64, kOutputs = 20;

/// Gradients whose moment is far from a multiple of the identity.
core::GradientStats uneven_gradients(int64_t outputs, const std::string& name) {
  const at::Tensor g_to = correlated_inputs(400, outputs, name + " g").to(at::kDouble);
  return {.tokens = 400, .output_moment_oo = at::matmul(g_to.t(), g_to)};
}

OutputMetric metric_of(const core::GradientStats& stats, OutputForm form, int64_t whole = 4096,
                       int64_t rank = 0) {
  return {stats, form, 0.01, whole, rank, at::kCPU};
}

/// E[dy^T G dy] / 2, token by token and number by number.
double by_definition(const at::Tensor& g_oo, const at::Tensor& w_oi, const at::Tensor& v_oi,
                     const core::InputPair& pair) {
  const auto at64 = [](const at::Tensor& t) { return t.to(at::kDouble).contiguous(); };
  const at::Tensor w = at64(w_oi), v = at64(v_oi), z = at64(pair.z_ti), x = at64(pair.x_ti),
                   g = at64(g_oo);
  const auto value = [](const at::Tensor& t, int64_t row, int64_t col) {
    return t.const_data_ptr<double>()[row * t.size(1) + col];
  };
  double sum = 0;
  for (int64_t t = 0; t < z.size(0); ++t) {
    std::vector<double> dy(static_cast<std::size_t>(w.size(0)));
    for (int64_t o = 0; o < w.size(0); ++o)
      for (int64_t i = 0; i < w.size(1); ++i)
        dy[o] += value(v, o, i) * value(z, t, i) - value(w, o, i) * value(x, t, i);
    for (int64_t a = 0; a < w.size(0); ++a)
      for (int64_t b = 0; b < w.size(0); ++b) sum += dy[a] * value(g, a, b) * dy[b];
  }
  return sum / static_cast<double>(z.size(0)) / 2;
}

format::InputTransform some_transform() {
  format::InputTransform t{.id = "t", .hadamard = 32};
  Rng rng(4, "transform");
  for (int64_t i = 0; i < kInputs; ++i) {
    t.scale.push_back(static_cast<float>(0.5 + rng.uniform()));
    t.signs.push_back(rng.below(2) != 0 ? 1 : -1);
  }
  return t;
}

TEST(OutputLoss, IsItsDefinition) {
  const at::Tensor w_oi = normals({kOutputs, kInputs}, "w");
  const at::Tensor v_oi = w_oi + 0.1 * normals({kOutputs, kInputs}, "error");
  const core::GradientStats stats = uneven_gradients(kOutputs, "a");
  at::Tensor g_oo = stats.output_moment_oo / 400.0;
  g_oo.diagonal().add_(0.01 * g_oo.diagonal().mean().item<double>());
  const at::Tensor own_ti = correlated_inputs(kTokens, kInputs, "x"),
                   original_ti = own_ti + 0.1 * normals({kTokens, kInputs}, "drift");
  const format::InputRounding int4{format::InputRounding::Numbers::integer, 4, 0, 0, 0.9F};
  for (const auto& [rounding, reference_ti] :
       {std::pair{int4, own_ti}, {int4, original_ti}, {format::InputRounding{}, own_ti}}) {
    const core::InputPair pair =
        core::input_pair(own_ti, reference_ti, {some_transform(), rounding});
    core::InputMoments moments;
    core::add_moments(pair, moments);
    const auto expect = [&](const OutputMetric& metric, const at::Tensor& g) {
      const double expected = by_definition(g, w_oi, v_oi, pair);
      EXPECT_NEAR(OutputLoss(metric, w_oi, moments).of(v_oi), expected, 1e-5 * expected);
      EXPECT_TRUE(at::allclose(metric.dense(), g, 1e-6, 1e-9));
    };
    expect(OutputMetric(kOutputs), at::eye(kOutputs, at::kDouble));
    expect(metric_of(stats, OutputForm::diagonal), g_oo.diagonal().diag());
    expect(metric_of(stats, OutputForm::full), g_oo);
    // Every direction is kept: the iteration has nothing to leave out.
    expect(metric_of(stats, OutputForm::full, 4, kOutputs), g_oo);
  }
}

TEST(OutputMetric, ALowRankKeepsTheDiagonalAndTheLargestDirections) {
  const core::GradientStats stats = uneven_gradients(48, "b");
  const at::Tensor whole = metric_of(stats, OutputForm::full).dense();
  double before = (metric_of(stats, OutputForm::diagonal).dense() - whole).norm().item<double>();
  for (const int64_t rank : {2, 8, 24}) {
    const at::Tensor low = metric_of(stats, OutputForm::full, 8, rank).dense();
    EXPECT_TRUE(at::allclose(low.diagonal(), whole.diagonal(), 1e-6));
    const double distance = (low - whole).norm().item<double>();
    EXPECT_LT(distance, 0.7 * before);
    before = distance;
  }
}

TEST(Product, IsTheProductOnAnyNumberOfThreads) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    const at::Tensor a = normals({70, 45}, "a").to(type), b = normals({45, 37}, "b").to(type);
    at::set_num_threads(1);
    const at::Tensor one = core::product(a, b), turned = core::product(a.t().contiguous().t(), b);
    at::set_num_threads(2);
    EXPECT_TRUE(at::equal(core::product(a, b), one));
    EXPECT_TRUE(at::equal(turned, one));
    EXPECT_TRUE(at::allclose(one, at::matmul(a, b), 1e-5, 1e-5));
  }
}

/// J of a group by itself: what the method starts from, and what it ended with.
struct Judge {
  core::MatrixGroup group;
  core::Stats stats;
  std::vector<core::GradientStats> gradients;

  explicit Judge(const at::Tensor& x_ti, const at::Tensor& original_ti = {})
      : group{.id = "model.layers.0.test"} {
    // Waking threads for matrices this small costs more than it saves.
    at::set_num_threads(1);
    stats = core::testing::stats_of(x_ti);
    if (original_ti.defined()) stats.original_inputs = {original_ti};
    for (const int64_t rows : {24, 40}) {
      group.names.push_back(cat("matrix", rows));
      group.weights_oi.push_back(0.05 * normals({rows, x_ti.size(1)}, group.names.back()));
      gradients.push_back(uneven_gradients(rows, group.names.back()));
    }
    for (const core::GradientStats& g : gradients) group.gradients.push_back(&g);
  }
  double loss(const std::vector<core::MatrixResult>& results, OutputForm form,
              core::Reference reference = core::Reference::own) const {
    double sum = 0;
    for (std::size_t m = 0; m < results.size(); ++m) {
      const format::WeightCode& code = results[m].code;
      const auto moments =
          core::input_moments(stats, {code.input, code.rounding}, reference, at::kCPU);
      const OutputMetric g = form == OutputForm::identity
                                 ? OutputMetric(code.rows)
                                 : OutputMetric(gradients[m], form, 0.1, 4096, 64, at::kCPU);
      sum += OutputLoss(g, core::transform_weight(code.input, group.weights_oi[m]), moments)
                 .of(core::decode(code));
    }
    return sum;
  }
  std::vector<core::MatrixResult> run(const std::string& method, const std::string& recipe) const {
    return testing::quantize(*testing::make(method, recipe), method, recipe, group, stats);
  }
};

at::Tensor inputs_with_outliers() {
  at::Tensor x_ti = correlated_inputs(400, kInputs, "outliers");
  for (const int64_t i : {3, 40}) x_ti.select(1, i).mul_(20);
  return x_ti;
}

TEST(Unified, NeverEndsAboveItsStart) {
  const Judge judge(inputs_with_outliers());
  for (const char* bits : {"3", "4"})
    for (const char* inputs : {"none", "int4", "{int8: {scale: static}}"})
      for (const char* transform : {"none", "smooth", "{hadamard: {block: 32}}"})
        for (const char* more : {"", ", order: staged, clip_inputs: true", ", output: diagonal",
                                 ", feedback: false", ", steps: 3, rate: 1, scaling_rate: 1"}) {
          const std::string recipe =
              cat("{layout: {uniform: {bits: ", bits, ", group: 32}}, activations: ", inputs,
                  ", transform: ", transform);
          SCOPED_TRACE(recipe + more);
          const bool fast = std::string(more).find("steps") != std::string::npos;
          const std::string text = cat(recipe, more, fast ? "}" : ", steps: 20, tokens: 200}");
          const OutputForm form = std::string(more).find("diagonal") != std::string::npos
                                      ? OutputForm::diagonal
                                      : OutputForm::full;
          const double after = judge.loss(judge.run("unified", text), form);
          for (const char* start : {"rtn", "gptq"})
            EXPECT_LE(after, 1.0001 * judge.loss(judge.run(start, recipe + ", scale: mse}"), form))
                << start;
        }
}

TEST(Unified, ClipsInputsWhereThatLowersJ) {
  const Judge judge(correlated_inputs(400, kInputs, "x"));
  const auto loss = [&](const std::string& more) {
    const auto results = judge.run("unified", "{activations: int4, steps: 20" + more + "}");
    for (const auto& r : results) EXPECT_EQ(r.code.rounding.clip < 1, !more.empty());
    return judge.loss(results, OutputForm::full);
  };
  EXPECT_LT(loss(", clip_inputs: true"), 0.99 * loss(""));
}

TEST(Unified, MayAimAtTheOriginalsOutputs) {
  const at::Tensor x_ti = correlated_inputs(400, kInputs, "x");
  const Judge judge(x_ti, 1.1 * x_ti + 0.2 * x_ti.roll(1, 1));
  const auto loss = [&](const std::string& more) {
    const std::string recipe = "{activations: int8, steps: 20, output: diagonal" + more + "}";
    return judge.loss(judge.run("unified", recipe), OutputForm::diagonal,
                      core::Reference::original);
  };
  const double own = loss(""), original = loss(", reference: original"),
               corrected = loss(", reference: original, correction: 1");
  EXPECT_LT(original, own);
  EXPECT_LT(corrected, 0.1 * own);
}

TEST(Unified, WithoutTheOriginalsInputsItsOwnAreTheReference) {
  Judge judge(inputs_with_outliers());
  judge.stats.original_inputs.clear();
  for (const auto& r : judge.run("unified", "{steps: 4, reference: original}"))
    EXPECT_EQ(r.fallback, "reference own: the original's inputs at its tokens are not known");
}

TEST(Unified, SaysWhenJDoesNotFall) {
  const Judge judge(inputs_with_outliers());
  const std::string still = "{steps: 0, feedback: false, ranges: false}";
  for (const auto& r : judge.run("unified", still))
    EXPECT_TRUE(r.note.starts_with("J not lowered: GPTQ kept, J ")) << r.note;
  for (const auto& r : judge.run("unified", "{steps: 40}"))
    EXPECT_NE(r.note.find(" of GPTQ"), std::string::npos) << r.note;
}

/// What remains of J where one thing is learned, of the codes themselves.
double share_left(const Learnables& learn, LearningOrder order, const JointState& start,
                  const JointProblem& problem) {
  JointState state = start;
  const JointLoss loss = learn_jointly(
      problem, {.learn = learn, .order = order, .rounding = {.steps = 60}, .scaling_rate = 0.1},
      state);
  // What it says is J of what it gives.
  core::InputMoments moments;
  core::add_moments(core::input_pair(problem.own_ti, problem.reference_ti, state.input), moments);
  const at::Tensor w_oi = core::transform_weight(state.input.transform, problem.w_oi[0]);
  const double now = OutputLoss(problem.outputs[0], w_oi, moments).of(core::decode(state.codes[0]));
  EXPECT_NEAR(loss.after, now, 1e-3 * now);
  return loss.after / loss.before;
}

TEST(JointLearning, EachPartLowersJ) {
  at::set_num_threads(1);
  const at::Tensor x_ti = inputs_with_outliers();
  const at::Tensor w_oi = 0.05 * normals({kOutputs, kInputs}, "w");
  const core::GradientStats gradients = uneven_gradients(kOutputs, "c");
  const auto layout = format::make_layout("uniform", R"({"bits":3,"group":32})");
  format::InputTransform t{.id = "t", .hadamard = 32};
  for (int64_t i = 0; i < kInputs; ++i) t.signs.push_back(i % 3 == 0 ? -1 : 1);
  for (const format::InputTransform& transform : {format::InputTransform{}, t}) {
    const JointProblem problem{.w_oi = {w_oi},
                               .outputs = {metric_of(gradients, OutputForm::full)},
                               .own_ti = x_ti,
                               .reference_ti = x_ti};
    const auto code = core::make_code(layout, core::ScaleRule::minmax);
    const JointState start{
        .input = {transform, {format::InputRounding::Numbers::integer, 4, 0, 0}},
        .codes = {core::encode(*code, core::transform_weight(transform, w_oi), {}, nullptr)}};
    const auto left = [&](Learnables learn, LearningOrder order = LearningOrder::joint) {
      return share_left(learn, order, start, problem);
    };
    const double scaling = left({true, false, false}), ranges = left({false, true, false}),
                 rounding = left({false, false, true}), all = left({true, true, true});
    EXPECT_LT(scaling, 0.5);  // outliers are what makes int4 inputs bad
    EXPECT_LT(ranges, 0.99);
    EXPECT_LT(rounding, 0.99);
    EXPECT_LT(all, scaling);
    EXPECT_LT(left({true, true, true}, LearningOrder::staged), 0.6);
    EXPECT_EQ(left({false, false, false}), 1);
  }
}

TEST(Unified, SaysWhichGradientIsMissing) {
  Judge judge(inputs_with_outliers());
  judge.group.gradients[1] = nullptr;
  for (const auto& r : judge.run("unified", "{steps: 4}"))
    EXPECT_EQ(r.fallback, "output identity: no gradient of the loss reached matrix40");
}

TEST(Unified, NamesTheLayoutThatItRefuses) {
  try {
    testing::make("unified", "{layout: nvfp4}");
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    EXPECT_NE(e.message().find("quant.unified fits integer grids"), std::string::npos);
    EXPECT_NE(e.message().find("nvfp4"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace cupel::quant
