// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "core/train/trainable.h"
#include "distill/divergence.h"
#include "distill/opd.h"
#include "tiny_model.h"

namespace cupel::distill {
namespace {

using core::Model;
using core::train::TrainContext;

at::Tensor row(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).unsqueeze(0);
}

std::unique_ptr<Divergence> divergence_of(const std::string& name, double beta = 0.5,
                                          bool normalise = true) {
  Choice choice(divergence_alternatives(), name);
  if (name == "js") {
    auto params = std::make_shared<JsParams>();
    params->beta = beta;
    params->normalise = normalise;
    choice.params = params;
  }
  return make_divergence(choice);
}

struct Oracle {
  std::string name;
  double beta;
  bool normalise;
  double value;
  std::vector<double> gradient;
};

// Student (2, .5, -1), teacher (1, 1.5, -.5): values by independent double precision arithmetic.
const Oracle kOracles[] = {
    {"forward-kl", 0, false, 0.4510917317, {0.4373896067, -0.3988066008, -0.0385830059}},
    {"reverse-kl", 0, false, 0.4043959788, {0.3215053069, -0.2788432537, -0.0426620532}},
    {"js", 0.5, false, 0.1024434855, {0.0859420819, -0.0759995774, -0.0099425044}},
    {"js", 0.1, false, 0.0394568734, {}},
    {"js", 0.9, false, 0.0362849787, {}},
    {"js", 0.25, true, 0.4242883477, {}},
    {"js", 0.75, true, 0.4035011611, {}},
};

TEST(DivergenceTest, MeetsTheOracle) {
  for (const Oracle& o : kOracles) {
    const at::Tensor z = row({2, 0.5, -1}).set_requires_grad(true);
    const at::Tensor value =
        (*divergence_of(o.name, o.beta, o.normalise))(z, row({1, 1.5, -0.5})).sum();
    EXPECT_NEAR(value.item<double>(), o.value, 1e-10) << o.name << " " << o.beta;
    value.backward();
    for (std::size_t i = 0; i < o.gradient.size(); ++i)
      EXPECT_NEAR(z.grad()[0][static_cast<int64_t>(i)].item<double>(), o.gradient[i], 1e-10)
          << o.name;
  }
}

// The closed forms again in plain arithmetic, to full double precision.
double closed_form(const std::string& name, const at::Tensor& z, const at::Tensor& zt,
                   double beta) {
  const at::Tensor q = z.softmax(-1), p = zt.softmax(-1);
  double sum = 0;
  for (int64_t i = 0; i < z.size(1); ++i) {
    const double a = q[0][i].item<double>(), b = p[0][i].item<double>(),
                 m = beta * b + (1 - beta) * a;
    if (name == "forward-kl") sum += b * std::log(b / a);
    if (name == "reverse-kl") sum += a * std::log(a / b);
    if (name == "js") sum += beta * b * std::log(b / m) + (1 - beta) * a * std::log(a / m);
  }
  return sum;
}

TEST(DivergenceTest, MeetsClosedFormsAndFiniteDifferences) {
  for (const std::string name : {"forward-kl", "reverse-kl", "js"}) {
    const auto divergence = divergence_of(name, 0.3, false);
    const at::Tensor z = at::randn({1, 9}, at::kDouble), zt = at::randn({1, 9}, at::kDouble);
    EXPECT_NEAR((*divergence)(z, zt).item<double>(), closed_form(name, z, zt, 0.3), 1e-10) << name;
    const at::Tensor leaf = z.clone().set_requires_grad(true);
    (*divergence)(leaf, zt).sum().backward();
    const double h = 1e-3;
    for (int64_t i = 0; i < 9; ++i) {
      // Fourth order: the error is below 1e-12 at this step.
      double slope = 0;
      for (const auto& [offset, weight] : {std::pair{1, 8.0}, {-1, -8.0}, {2, -1.0}, {-2, 1.0}}) {
        at::Tensor moved = z.clone();
        moved[0][i] += offset * h;
        slope += weight * (*divergence)(moved, zt).item<double>();
      }
      EXPECT_NEAR(leaf.grad()[0][i].item<double>(), slope / (12 * h), 1e-10) << name;
    }
  }
}

TEST(DivergenceTest, VanishesExactlyWhenBothAgree) {
  for (const std::string name : {"forward-kl", "reverse-kl", "js"}) {
    const at::Tensor z = at::randn({4, 50}, at::kDouble).set_requires_grad(true);
    const at::Tensor value =
        (*divergence_of(name))(z, z.detach() + 3.5);  // logits are free up to a constant
    EXPECT_LT(value.abs().max().item<double>(), 1e-12) << name;
    value.sum().backward();
    EXPECT_LT(z.grad().abs().max().item<double>(), 1e-12) << name;
  }
}

TEST(DivergenceTest, JsReachesBothKullbackLeiblers) {
  const at::Tensor z = at::randn({1, 7}, at::kDouble), zt = at::randn({1, 7}, at::kDouble);
  EXPECT_NEAR((*divergence_of("js", 1e-7))(z, zt).item<double>(),
              (*divergence_of("forward-kl"))(z, zt).item<double>(), 1e-5);
  EXPECT_NEAR((*divergence_of("js", 1 - 1e-7))(z, zt).item<double>(),
              (*divergence_of("reverse-kl"))(z, zt).item<double>(), 1e-5);
}

TEST(DivergenceTest, ForbiddenTokensGiveNoNan) {
  const double never = -std::numeric_limits<double>::infinity();
  for (const std::string name : {"forward-kl", "reverse-kl", "js"}) {
    const at::Tensor z = row({2, 0.5, never}).set_requires_grad(true);
    const at::Tensor value = (*divergence_of(name))(z, row({1, 1.5, never})).sum();
    const at::Tensor without = (*divergence_of(name))(row({2, 0.5}), row({1, 1.5})).sum();
    EXPECT_NEAR(value.item<double>(), without.item<double>(), 1e-12) << name;
    value.backward();
    EXPECT_TRUE(z.grad().isfinite().all().item<bool>()) << name;
  }
}

TEST(WeightingTest, OnlyGeneratedTokensCount) {
  Rollout rollout{core::random_ids(2, 8, 37, 1), {3, 1}, {8, 5}, {0, 0}};
  const at::Tensor w_nt = GeneratedTokens().weights_nt(rollout);
  const std::vector<float> expected = {0, 0, 1, 1, 1, 1, 1, 0, /**/ 1, 1, 1, 1, 0, 0, 0, 0};
  EXPECT_TRUE(at::equal(w_nt.flatten(), at::tensor(expected)));
}

TEST(RolloutTest, PromptsComeFromTheTextAndTheStudentGoesOn) {
  Model student = core::lively_model(core::tiny_config(), 1);
  std::vector<int64_t> text(300);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<int64_t>(i * i % 37);
  RolloutParams params;
  params.prompt = 6;
  params.tokens = 10;
  const auto source = make_rollout_source(text, params, 5);
  const Rollout a = source->roll(student, 3, Rng(1));
  EXPECT_EQ(a.ids_nt.sizes(), at::IntArrayRef({5, 16}));
  EXPECT_EQ(a.prompt, std::vector<int64_t>(5, 6));
  EXPECT_EQ(a.length, std::vector<int64_t>(5, 16));
  EXPECT_TRUE(at::equal(a.ids_nt, source->roll(student, 3, Rng(1)).ids_nt));
  EXPECT_FALSE(at::equal(a.ids_nt, source->roll(student, 4, Rng(1)).ids_nt));
  EXPECT_TRUE(at::equal(a.ids_nt.slice(1, 0, 6), random_windows(text, 5, 6, 3, Rng(1))));

  params.writer = RolloutWriter::text;
  const Rollout b = make_rollout_source(text, params, 5)->roll(student, 3, Rng(1));
  EXPECT_TRUE(at::equal(b.ids_nt, random_windows(text, 5, 16, 3, Rng(1))));
}

struct Setting {
  Model teacher = core::lively_model(core::tiny_config(), 7);
  Model student = teacher.clone();
  std::vector<int64_t> text;
  Setting() {
    const at::Tensor ids = core::random_ids(1, 600, 37, 2);
    for (int64_t i = 0; i < 600; ++i) text.push_back(ids[0][i].item<int64_t>());
  }
  /// Moves the student's matrices away from the teacher's.
  void disturb() {
    for (const auto& [name, w] : student.named_weights()) {
      Rng rng(9, name);
      for (int64_t r = 0; r < w.size(0); ++r) w[r].mul_(1 + 0.3 * rng.normal());
    }
  }
  TrainContext context() {
    return {.student = student, .teacher = &teacher, .tokens = text, .rng = Rng(4, "opd")};
  }
};

OpdParams opd_params(const std::string& divergence, int64_t steps) {
  OpdParams params;
  params.steps = steps;
  params.batch = 6;
  params.rollout.prompt = 4;
  params.rollout.tokens = 12;
  params.divergence = Choice(divergence_alternatives(), divergence);
  params.adamw.lr = 1e-2;
  params.adamw.warmup = 5;
  return params;
}

TEST(OpdTest, NothingToLearnFromOneself) {
  Setting s;
  TrainContext context = s.context();
  double worst_loss = 0, worst_norm = 0;
  context.on_step = [&](int64_t, int64_t, double loss,
                        const std::map<std::string, double>& metrics) {
    worst_loss = std::max(worst_loss, std::abs(loss));
    worst_norm = std::max(worst_norm, metrics.at("gradient_norm"));
    EXPECT_EQ(metrics.at("positions"), 6 * 12);
  };
  OpdParams params = opd_params("reverse-kl", 1);
  params.adamw.lr = 0;
  Opd(params).run(context);
  EXPECT_LT(worst_loss, 1e-6);
  EXPECT_LT(worst_norm, 1e-4);
}

TEST(OpdTest, ComesCloserToTheTeacher) {
  for (const std::string name : {"reverse-kl", "forward-kl", "js"}) {
    Setting s;
    s.disturb();
    TrainContext context = s.context();
    std::vector<double> losses;
    context.on_step = [&](int64_t, int64_t, double loss, const auto&) { losses.push_back(loss); };
    Opd(opd_params(name, 60)).run(context);
    const auto mean = [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) sum += losses[i];
      return sum / static_cast<double>(end - begin);
    };
    EXPECT_LT(mean(50, 60), 0.5 * mean(0, 5)) << name;
  }
}

TEST(OpdTest, TheTeacherStaysAndSoDoFrozenWeights) {
  Setting s;
  s.disturb();
  TrainContext context = s.context();
  context.frozen = {"model.layers.1.mlp.gate_proj.weight"};
  const at::Tensor teacher = s.teacher.layer(0).of(format::Role::up).clone(),
                   frozen = s.student.layer(1).of(format::Role::gate).clone();
  const at::Tensor matrix = s.student.layer(0).of(format::Role::up).clone(),
                   norm = s.student.layer(0).of(format::Role::mlp_norm).clone();
  OpdParams params = opd_params("reverse-kl", 2);
  params.train = TrainedPart::norms;
  Opd(params).run(context);
  EXPECT_TRUE(at::equal(s.student.layer(0).of(format::Role::up), matrix));
  EXPECT_FALSE(at::equal(s.student.layer(0).of(format::Role::mlp_norm), norm));
  params.train = TrainedPart::full;
  Opd(params).run(context);
  EXPECT_FALSE(at::equal(s.student.layer(0).of(format::Role::up), matrix));
  EXPECT_TRUE(at::equal(s.student.layer(1).of(format::Role::gate), frozen));
  EXPECT_TRUE(at::equal(s.teacher.layer(0).of(format::Role::up), teacher));
}

TEST(OpdTest, MicroBatchesShareOneDenominator) {
  Setting s;
  s.disturb();
  const StudentRollout source(s.text, {}, 5);
  const auto divergence = divergence_of("reverse-kl");
  const GeneratedTokens generated;
  const std::vector<const TokenWeighting*> tokens{&generated};
  const EqualDomains domains;
  ModelTeacher teacher(s.teacher);
  const Objective objective{source, teacher, *divergence, tokens, domains};
  const auto weights = core::train::trainable_weights(s.student, {});
  Rollout rollout{
      core::random_ids(5, 12, 37, 3), {2, 3, 4, 5, 6}, {12, 9, 12, 7, 12}, {0, 0, 0, 0, 0}};
  const auto gradients_with = [&](int64_t micro) {
    const double loss = distill_gradients(objective, s.student, rollout, micro).loss;
    std::vector<at::Tensor> out{at::tensor(loss)};
    for (const auto& [name, w] : weights) {
      out.push_back(w.grad().clone());
      w.mutable_grad().reset();
    }
    return out;
  };
  const auto whole = gradients_with(5), parts = gradients_with(2);
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_LT((whole[i] - parts[i]).abs().max().item<double>(),
              1e-4 * (1 + whole[i].abs().max().item<double>()));

  // Padding has no say: other ids behind a sequence's end change nothing.
  rollout.ids_nt[1].slice(0, 9).fill_(0);
  rollout.ids_nt[3].slice(0, 7).fill_(1);
  const auto padded = gradients_with(5);
  EXPECT_NEAR(padded[0].item<double>(), whole[0].item<double>(), 1e-6);
}

struct Stop {};

TEST(OpdTest, ResumesBitForBit) {
  const core::TemporaryFolder folder;
  OpdParams params = opd_params("reverse-kl", 9);
  params.rollout.updates = 2;  // checkpoints fall on steps that draw new rollouts
  Setting whole, first, second;
  for (Setting* s : {&whole, &first, &second}) s->disturb();
  TrainContext context = whole.context();
  Opd(params).run(context);
  TrainContext broken = first.context();
  broken.checkpoint = folder / "opd";
  broken.checkpoint_every = 3;
  broken.on_step = [](int64_t step, int64_t, double, const auto&) {
    if (step == 6) throw Stop{};
  };
  EXPECT_THROW(Opd(params).run(broken), Stop);
  TrainContext resumed = second.context();
  resumed.checkpoint = broken.checkpoint;
  resumed.checkpoint_every = 3;
  std::vector<int64_t> steps;
  resumed.on_step = [&](int64_t step, int64_t, double, const auto&) { steps.push_back(step); };
  Opd(params).run(resumed);
  EXPECT_EQ(steps.front(), 5);
  const auto expected = whole.student.named_weights(), got = second.student.named_weights();
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(at::equal(expected[i].second, got[i].second)) << expected[i].first;
}

}  // namespace
}  // namespace cupel::distill
