// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The optimiser, the training loop with its checkpoints, and training on text.

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "core/train/optimizer.h"
#include "core/train/trainable.h"
#include "distill/methods.h"
#include "distill/rollout.h"
#include "distill/train_lm.h"
#include "tiny_model.h"

namespace cupel::core::train {
namespace {

// A text with a rule that can be learned: each token is the last one times 3 plus 1, sometimes a
// random one.
std::vector<int64_t> rule_text(int64_t tokens, int64_t vocab) {
  Rng rng(1, "text");
  std::vector<int64_t> out{0};
  while (static_cast<int64_t>(out.size()) < tokens)
    out.push_back(rng.below(16) == 0 ? static_cast<int64_t>(rng.below(static_cast<uint64_t>(vocab)))
                                     : (out.back() * 3 + 1) % vocab);
  return out;
}

distill::TrainLmParams lm_params(int64_t steps) {
  distill::TrainLmParams params;
  params.steps = steps;
  params.batch = 4;
  params.length = 16;
  params.adamw.lr = 3e-3;
  params.adamw.warmup = 5;
  return params;
}

TrainContext context_of(Model& student) {
  return {.student = student, .tokens = rule_text(2000, 37), .rng = Rng(5, "train")};
}

TEST(LearningRateTest, WarmsUpAndFalls) {
  AdamWParams p;
  p.lr = 2;
  p.warmup = 4;
  p.final_share = 0.25;
  EXPECT_DOUBLE_EQ(learning_rate(p, 0, 100), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(p, 3, 100), 2);
  EXPECT_DOUBLE_EQ(learning_rate(p, 4, 100), 2);
  EXPECT_DOUBLE_EQ(learning_rate(p, 99, 100), 0.5);
  for (int64_t s = 5; s < 100; ++s)
    EXPECT_LT(learning_rate(p, s, 100), learning_rate(p, s - 1, 100));
  EXPECT_DOUBLE_EQ(learning_rate(p, 0, 1), 0.5);
}

TEST(AdamWTest, IsTheFormula) {
  AdamWParams p;
  p.clip = 0.5;
  p.weight_decay = 0.1;
  at::Tensor w = at::full({1, 1}, 2.0, at::kDouble).set_requires_grad(true);
  at::Tensor norm = at::full({1}, 3.0, at::kDouble).set_requires_grad(true);
  AdamW optimizer(p, {{"w", w}, {"norm", norm}});
  double m[2] = {}, v[2] = {}, value[2] = {2, 3};
  for (int step = 1; step <= 5; ++step) {
    const double lr = 0.01 * step;
    const double g[2] = {0.7 * step, -0.3};
    w.mutable_grad() = at::full({1, 1}, g[0], at::kDouble);
    norm.mutable_grad() = at::full({1}, g[1], at::kDouble);
    const double length = std::hypot(g[0], g[1]);
    EXPECT_NEAR(optimizer.step(lr), length, 1e-12);
    for (int i = 0; i < 2; ++i) {
      const double clipped = g[i] * std::min(1.0, p.clip / length);
      m[i] = p.beta1 * m[i] + (1 - p.beta1) * clipped;
      v[i] = p.beta2 * v[i] + (1 - p.beta2) * clipped * clipped;
      if (i == 0) value[i] *= 1 - lr * p.weight_decay;  // norms do not decay
      const double root = std::sqrt(v[i] / (1 - std::pow(p.beta2, step)));
      value[i] -= lr * m[i] / (1 - std::pow(p.beta1, step)) / (root + p.eps);
    }
    EXPECT_NEAR(w.item<double>(), value[0], 1e-10);
    EXPECT_NEAR(norm.item<double>(), value[1], 1e-10);
    EXPECT_FALSE(w.grad().defined());
  }
}

TEST(AdamWTest, SmallUpdatesOfHalfTypesAddUp) {
  at::Tensor w = at::full({1, 1}, 1.0, at::kBFloat16).set_requires_grad(true);
  AdamWParams p;
  p.weight_decay = 0;
  AdamW optimizer(p, {{"w", w}});
  for (int step = 0; step < 100; ++step) {
    w.mutable_grad() = at::full({1, 1}, 1.0, at::kBFloat16);
    optimizer.step(1e-3);  // a bfloat16 near 1 has steps of 4e-3
  }
  EXPECT_NEAR(w.item<double>(), 0.9, 5e-3);
}

TEST(AdamWTest, NamesTheWeightOfABadGradient) {
  at::Tensor w = at::full({2}, 1.0).set_requires_grad(true);
  AdamW optimizer({}, {{"model.norm.weight", w}});
  w.mutable_grad() = at::full({2}, std::numeric_limits<float>::quiet_NaN());
  try {
    optimizer.step(1e-3);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::data);
    EXPECT_NE(e.message().find("model.norm.weight"), std::string::npos);
  }
}

TEST(CheckpointTest, RoundTrips) {
  const TemporaryFolder folder;
  const at::Tensor a = at::randn({3, 4}), b = at::full({1}, int64_t{7}, at::kLong);
  save_checkpoint(folder / "c.h5",
                  {{"m/model.x.weight", a}, {"steps", b}, {"h", a.to(at::kBFloat16)}});
  const auto back = load_checkpoint(folder / "c.h5");
  ASSERT_EQ(back.size(), 3u);
  EXPECT_TRUE(at::equal(back.at("m/model.x.weight"), a));
  EXPECT_TRUE(at::equal(back.at("steps"), b));
  EXPECT_TRUE(at::equal(back.at("h"), a.to(at::kBFloat16).to(at::kFloat)));
}

TEST(TrainLmTest, PiecesOfTheHeadGiveTheWholeGradient) {
  Model model = lively_model(tiny_config(), 2, at::kDouble);
  const NamedTensors weights = trainable_weights(model, {});
  const at::Tensor ids_nt = random_ids(2, 11, 37, 4);
  const auto gradients_with = [&](int64_t rows) {
    at::Tensor x_nth = model.embed(ids_nt);
    for (int i = 0; i < model.layers(); ++i) x_nth = model.block(i, x_nth);
    backward_through_head(
        model, x_nth.reshape({22, 16}), rows,
        [](int64_t, const at::Tensor& logits_rv) { return logits_rv.square().sum() / 100; });
    std::vector<at::Tensor> out;
    for (const auto& [name, w] : weights) {
      out.push_back(w.grad().clone());
      w.mutable_grad().reset();
    }
    return out;
  };
  const auto whole = gradients_with(22), pieces = gradients_with(5);
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_LT((whole[i] - pieces[i]).abs().max().item<double>(),
              1e-9 * (1 + whole[i].abs().max().item<double>()))
        << weights[i].first;
}

TEST(TrainLmTest, LearnsARule) {
  Model model = Model::random(tiny_config(), {}, 3);
  TrainContext context = context_of(model);
  std::vector<double> losses;
  context.on_step = [&](int64_t step, int64_t steps, double loss,
                        const std::map<std::string, double>& metrics) {
    EXPECT_EQ(step, static_cast<int64_t>(losses.size()) + 1);
    EXPECT_EQ(steps, 150);
    EXPECT_TRUE(metrics.contains("lr") && metrics.contains("gradient_norm"));
    losses.push_back(loss);
  };
  distill::TrainLm(lm_params(150)).run(context);
  ASSERT_EQ(losses.size(), 150u);
  EXPECT_NEAR(losses.front(), std::log(37.0), 0.1);
  EXPECT_LT(losses.back(), 1.8);  // the text itself allows 0.45
  for (const auto& [name, w] : model.named_weights()) EXPECT_FALSE(w.requires_grad()) << name;
}

TEST(TrainLmTest, MicroBatchesGiveTheSameStep) {
  Model a = Model::random(tiny_config(), {}, 3), b = a.clone();
  distill::TrainLmParams params = lm_params(2);
  TrainContext context_a = context_of(a), context_b = context_of(b);
  distill::TrainLm(params).run(context_a);
  params.micro_batch = 3;
  distill::TrainLm(params).run(context_b);
  EXPECT_LT((a.layer(0).of(format::Role::up) - b.layer(0).of(format::Role::up))
                .abs()
                .max()
                .item<double>(),
            1e-4);
}

struct Stop {};

TEST(TrainLmTest, ResumesBitForBit) {
  const TemporaryFolder folder;
  Model whole = Model::random(tiny_config(), {}, 3);
  TrainContext context = context_of(whole);
  distill::TrainLm(lm_params(40)).run(context);

  Model first = Model::random(tiny_config(), {}, 3);
  TrainContext broken = context_of(first);
  broken.checkpoint = folder / "train";
  broken.checkpoint_every = 17;
  broken.on_step = [](int64_t step, int64_t, double, const auto&) {
    if (step == 20) throw Stop{};
  };
  EXPECT_THROW(distill::TrainLm(lm_params(40)).run(broken), Stop);
  EXPECT_FALSE(first.layer(0).of(format::Role::up).requires_grad());

  Model second = Model::random(tiny_config(), {}, 3);
  TrainContext resumed = context_of(second);
  resumed.checkpoint = broken.checkpoint;
  resumed.checkpoint_every = 17;
  std::vector<int64_t> steps;
  resumed.on_step = [&](int64_t step, int64_t, double, const auto&) { steps.push_back(step); };
  distill::TrainLm(lm_params(40)).run(resumed);
  EXPECT_EQ(steps.size(), 23u);
  EXPECT_EQ(steps.front(), 18);
  const auto expected = whole.named_weights(), got = second.named_weights();
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(at::equal(expected[i].second, got[i].second)) << expected[i].first;

  steps.clear();
  distill::TrainLm(lm_params(40)).run(resumed);
  EXPECT_TRUE(steps.empty()) << "a finished run has nothing left to do";
}

TEST(TrainLmTest, FrozenWeightsAndCopiesStay) {
  Model model = Model::random(tiny_config(), {}, 3);
  Model teacher = model;  // shares tensors
  const std::string name = "model.layers.1.mlp.up_proj.weight";
  const at::Tensor before = model.layer(1).of(format::Role::up).clone(),
                   other = model.layer(0).of(format::Role::up).clone();
  TrainContext context = context_of(model);
  context.frozen = {name};
  distill::TrainLm(lm_params(3)).run(context);
  EXPECT_TRUE(at::equal(model.layer(1).of(format::Role::up), before));
  EXPECT_FALSE(at::equal(model.layer(0).of(format::Role::up), other));
  EXPECT_TRUE(at::equal(teacher.layer(0).of(format::Role::up), other));
}

TEST(TrainLmTest, RefusesShortTextAndNothingToTrain) {
  Model model = Model::random(tiny_config(), {}, 3);
  TrainContext context = context_of(model);
  context.tokens.resize(16);
  EXPECT_THROW(distill::TrainLm(lm_params(1)).run(context), Error);
  for (const auto& [name, w] : model.named_weights()) context.frozen.insert(name);
  EXPECT_THROW(distill::TrainLm(lm_params(1)).run(context), Error);
}

TEST(RandomWindowsTest, DependOnStepAndSequenceAlone) {
  const std::vector<int64_t> text = rule_text(500, 37);
  const at::Tensor a = distill::random_windows(text, 4, 9, 3, Rng(1));
  EXPECT_TRUE(at::equal(a.slice(0, 0, 2), distill::random_windows(text, 2, 9, 3, Rng(1))));
  EXPECT_FALSE(at::equal(a, distill::random_windows(text, 4, 9, 4, Rng(1))));
  EXPECT_EQ(distill::random_windows(text, 1, 500, 0, Rng(2))[0][499].item<int64_t>(), text[499]);
}

TEST(TrainMethodsTest, AreRegistered) {
  Registry<Trainable> train, distilled;
  distill::register_train_methods(train);
  distill::register_distill_methods(distilled);
  const auto lm = train.at("lm").make(train.at("lm").params());
  EXPECT_FALSE(lm->needs_teacher());
  EXPECT_EQ(lm->steps(), 100);
  EXPECT_TRUE(distilled.at("opd").make(distilled.at("opd").params())->needs_teacher());
}

}  // namespace
}  // namespace cupel::core::train
