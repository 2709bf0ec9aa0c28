// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "prune/depth.h"
#include "prune/methods.h"
#include "tiny_model.h"

namespace cupel::prune {
namespace {

using core::Model;
using core::Probe;
using core::PrunePlan;
using format::Role;

format::ModelConfig deep_config() {
  format::ModelConfig config = core::tiny_config();
  config.layers = 7;
  return config;
}

/// A model with layers that do nothing.
Model with_idle_layers(const std::vector<int>& idle, uint64_t seed = 1) {
  Model model = core::lively_model(deep_config(), seed);
  for (const int i : idle) {
    model.layer(i).of(Role::output).zero_();
    model.layer(i).of(Role::down).zero_();
  }
  return model;
}

Probe probe_of(int64_t n = 4, int64_t t = 48) {
  return {core::random_ids(n, t, 37, 3)};
}

DepthParams params_of(int64_t remove, bool contiguous, DepthRepair repair) {
  DepthParams params;
  params.remove = remove;
  params.contiguous = contiguous;
  params.repair = repair;
  return params;
}

TEST(ApplyTest, IdleLayersGoWithoutATrace) {
  for (const std::vector<int>& idle : {std::vector{0}, {3}, {6}, {1, 2, 5}}) {
    Model model = with_idle_layers(idle);
    const at::Tensor ids = core::random_ids(2, 15, 37, 4);
    const at::Tensor before = model.forward(ids);
    PrunePlan plan;
    plan.remove_layers = idle;
    core::apply(plan, model);
    EXPECT_EQ(model.config().layers, 7 - static_cast<int64_t>(idle.size()));
    EXPECT_TRUE(at::equal(model.forward(ids), before));
  }
}

TEST(ApplyTest, CachedDecodingFollows) {
  Model model = with_idle_layers({});
  PrunePlan plan;
  plan.remove_layers = {5, 2};
  core::apply(plan, model);
  const at::Tensor ids = core::random_ids(1, 10, 37, 4);
  core::KvCache cache;
  model.forward(ids.slice(1, 0, 6), &cache);
  EXPECT_EQ(cache.keys.size(), 5u);
  const at::Tensor last = model.forward(ids.slice(1, 6), &cache);
  EXPECT_LT((last - model.forward(ids).slice(1, 6)).abs().max().item<double>(), 1e-4);
}

TEST(ApplyTest, RefusesAPlanOfAnotherModel) {
  Model model = with_idle_layers({});
  PrunePlan plan;
  for (const std::vector<int>& bad : {std::vector{7}, {-1}, {2, 2}}) {
    plan.remove_layers = bad;
    EXPECT_THROW(core::apply(plan, model), Error);
  }
  plan.remove_layers = {};
  plan.replace["model.layers.9.mlp.down_proj.bias"] = at::eye(2);
  EXPECT_THROW(core::apply(plan, model), Error);
}

TEST(DepthTest, FindsTheIdleLayers) {
  Model model = with_idle_layers({1, 4, 5});
  const PrunePlan one_by_one =
      Depth(params_of(3, false, DepthRepair::none)).plan(model, probe_of());
  EXPECT_EQ(one_by_one.remove_layers, (std::vector{1, 4, 5}));
  EXPECT_NEAR(one_by_one.scores[4], 0, 1e-6);
  EXPECT_GT(one_by_one.scores[3], 1e-3);
  const PrunePlan run = Depth(params_of(2, true, DepthRepair::none)).plan(model, probe_of());
  EXPECT_EQ(run.remove_layers, (std::vector{4, 5}));
  EXPECT_TRUE(run.replace.empty());
  EXPECT_NE(run.to_json().find("\"remove_layers\": [4, 5]"), std::string::npos);
}

TEST(DepthTest, PlanLeavesTheModelAsItWas) {
  Model model = with_idle_layers({3});
  const at::Tensor ids = core::random_ids(1, 9, 37, 4);
  const at::Tensor before = model.forward(ids);
  Depth(params_of(2, false, DepthRepair::linear)).plan(model, probe_of());
  EXPECT_EQ(model.config().layers, 7);
  EXPECT_TRUE(at::equal(model.forward(ids), before));
}

TEST(DepthTest, ProtectsTheEnds) {
  Model model = with_idle_layers({0, 6});
  for (const bool contiguous : {true, false}) {
    const PrunePlan plan =
        Depth(params_of(5, contiguous, DepthRepair::none)).plan(model, probe_of());
    EXPECT_EQ(plan.remove_layers, (std::vector{1, 2, 3, 4, 5}));
    EXPECT_THROW(Depth(params_of(6, contiguous, DepthRepair::none)).plan(model, probe_of()), Error);
  }
}

TEST(DepthTest, RepairMinimisesTheResidual) {
  Model model = core::lively_model(deep_config(), 2);
  DepthParams params = params_of(1, true, DepthRepair::linear);
  params.damp = 1e-9;
  const Probe probe{core::random_ids(1, 200, 37, 5)};  // one sequence: all of it is fitted
  const PrunePlan plan = Depth(params).plan(model, probe);
  ASSERT_EQ(plan.remove_layers.size(), 1u);
  const int gone = plan.remove_layers[0];
  const std::string name = cat("model.layers.", gone - 1, ".mlp.down_proj.weight");
  ASSERT_TRUE(plan.replace.contains(name)) << plan.to_json();

  at::Tensor x = model.embed(probe.ids_nt), u;
  for (int i = 0; i < gone; ++i)
    x = model.block(i, x, [&](const format::WeightId& first, const at::Tensor& t) {
      const Role role = first.role;
      if (role == Role::down) u = t;
      return true;
    });
  const at::Tensor target = model.block(gone, x)[0].to(at::kDouble);
  const at::Tensor down = model.layer(gone - 1).of(Role::down).to(at::kDouble),
                   repaired = plan.replace.at(name).to(at::kDouble);
  const at::Tensor u_ti = u[0].to(at::kDouble), x_th = x[0].to(at::kDouble);
  const at::Tensor m_th = at::matmul(u_ti, down.t());
  const at::Tensor left_th = target - (x_th - m_th + at::matmul(u_ti, repaired.t()));
  EXPECT_LT(left_th.square().sum().item<double>(),
            0.9 * (target - x_th).square().sum().item<double>());
  // At the least squares solution the residual is orthogonal to the features.
  const double correlation = at::matmul(m_th.t(), left_th).abs().max().item<double>();
  EXPECT_LT(correlation, 1e-4 * at::matmul(m_th.t(), target - x_th).abs().max().item<double>());
}

TEST(DepthTest, RepairRecoversAPlantedMap) {
  // Layer 4 adds exactly what layer 3's MLP would add with another down projection: the same inputs
  // (layer 3's MLP is copied, and layer 3's own output is so small that the stream does not move),
  // a map A* = 0.5 on it.
  Model model = core::lively_model(deep_config(), 6);
  model.layer(3).of(Role::output).zero_();
  model.layer(4).of(Role::output).zero_();
  model.layer(3).of(Role::down).mul_(1e-3);
  for (const Role role : {Role::mlp_norm, Role::gate, Role::up})
    model.layer(4).of(role).copy_(model.layer(3).of(role));
  model.layer(4).of(Role::down).copy_(model.layer(3).of(Role::down) * 0.5);
  DepthParams params = params_of(1, true, DepthRepair::linear);
  params.damp = 1e-12;
  const PrunePlan plan = Depth(params).plan(model, {core::random_ids(1, 400, 37, 5)});
  ASSERT_EQ(plan.remove_layers, std::vector{4}) << plan.to_json();
  const at::Tensor got = plan.replace.at("model.layers.3.mlp.down_proj.weight");
  const at::Tensor expected = model.layer(3).of(Role::down) * 1.5;
  EXPECT_LT((got - expected).abs().max().item<double>(),
            0.02 * expected.abs().max().item<double>());
}

TEST(DepthTest, HeldOutTextDecidesOnTheRepair) {
  Model model = core::lively_model(deep_config(), 2);
  const PrunePlan plan =
      Depth(params_of(2, true, DepthRepair::linear)).plan(model, probe_of(8, 64));
  ASSERT_EQ(plan.notes.size(), 1u) << plan.to_json();
  const bool dropped = plan.notes[0].find("left unrepaired") != std::string::npos;
  EXPECT_EQ(plan.replace.empty(), dropped);
}

TEST(DepthTest, RunWithoutAPredecessorIsNamed) {
  Model model = with_idle_layers({0, 1, 4});
  DepthParams params = params_of(3, false, DepthRepair::linear);
  params.protect_first = 0;
  const PrunePlan plan = Depth(params).plan(model, {core::random_ids(1, 100, 37, 5)});
  EXPECT_EQ(plan.remove_layers, (std::vector{0, 1, 4}));
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_EQ(plan.notes[0], "layers 0-1: removed without repair, no layer comes before");
  EXPECT_EQ(plan.replace.size(), 1u);
  EXPECT_TRUE(plan.replace.contains("model.layers.3.mlp.down_proj.weight"));
}

TEST(DepthTest, IsRegistered) {
  Registry<core::Pruner> registry;
  register_methods(registry);
  const auto depth = registry.at("depth").make(registry.at("depth").params());
  EXPECT_EQ(depth->layers_removed(deep_config()), 1);
}

}  // namespace
}  // namespace cupel::prune
