// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Methods that take a block as a whole: the handle, the pipeline, and quant.sign-round on both.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/pipeline/block_handle.h"
#include "core/pipeline/quantize.h"
#include "core/tensor_util.h"
#include "tests/unit/core/tiny_model.h"
#include "tests/unit/quant/methods_for_test.h"

namespace cupel::core {
namespace {

std::vector<std::vector<int32_t>> calibration() {
  std::vector<std::vector<int32_t>> samples;
  for (uint64_t k = 0; k < 6; ++k) {
    const at::Tensor ids = random_ids(1, 24, 37, k);
    samples.emplace_back(ids.const_data_ptr<int64_t>(), ids.const_data_ptr<int64_t>() + 24);
  }
  return samples;
}

std::vector<at::Tensor> embedded(Model& model) {
  std::vector<at::Tensor> out;
  for (uint64_t k = 0; k < 6; ++k) out.push_back(model.embed(random_ids(1, 24, 37, k)));
  return out;
}

std::vector<BlockPart> all_parts(const Model& model, int layer) {
  std::vector<BlockPart> parts;
  for (const auto& group : format::input_groups(model.config(), layer))
    parts.push_back({group.front(), group});
  return parts;
}

struct Outcome {
  std::string key;
  std::map<std::string, FinishedMatrix> done;
  int64_t units = 0, skipped = 0, total = 0;
};

QuantStep step(const std::string& method, const std::string& recipe) {
  auto params = quant::testing::params_of(method, recipe);
  return {"quant." + method, quant::testing::methods().at(method).make(params),
          std::dynamic_pointer_cast<const QuantizerParams>(params)};
}

Outcome quantize(Model& model, std::vector<QuantStep> steps, UnitStore& store) {
  Outcome out;
  QuantizeJob job{.model = model,
                  .steps = std::move(steps),
                  .calibration = calibration(),
                  .model_key = "tiny",
                  .seed = 3,
                  .store = store,
                  .done = out.done,
                  .on_unit = [&](const auto&, bool skipped, int64_t, int64_t total) {
                    ++out.units;
                    out.skipped += skipped;
                    out.total = total;
                  }};
  out.key = quantize_model(job);
  return out;
}

/// Mean squared difference of what leaves the first block.
double block_error(Model& a, Model& b) {
  const c10::NoGradGuard no_grad;
  double sum = 0;
  for (const at::Tensor& x : embedded(a))
    sum += (a.block(0, x) - b.block(0, x)).square().mean().item<double>();
  return sum;
}

TEST(BlockHandle, ItsForwardPassIsTheBlockAndHasTheRightGradient) {
  const c10::NoGradGuard no_grad;
  Model model = lively_model(tiny_config(), 5);
  const auto samples = embedded(model);
  const BlockHandle block(model, 1, samples, all_parts(model, 1), {.second_moment = true});
  ASSERT_EQ(block.samples(), 6);
  std::vector<at::Tensor> weights;
  for (const auto& part : block.parts()) {
    EXPECT_EQ(part.stats.tokens, 6 * 24) << part.group.id;
    EXPECT_EQ(part.stats.second_moment_ii.size(0), part.group.weights_oi.front().size(1));
    for (const at::Tensor& w : part.group.weights_oi) weights.push_back(w.clone());
  }
  ASSERT_EQ(weights.size(), 7u);
  EXPECT_TRUE(at::equal(block.forward(2, weights), block.target(2)));

  // The gradient of a sum of squares along a direction, against central differences.
  const at::Tensor target = block.target(2) * 0.5;
  const auto loss = [&](const std::vector<at::Tensor>& w) {
    return (block.forward(2, w) - target).to(at::kDouble).square().sum();
  };
  for (const std::size_t m : {std::size_t{0}, std::size_t{2}, std::size_t{6}}) {
    std::vector<at::Tensor> leaves = weights;
    leaves[m] = weights[m].clone().requires_grad_(true);
    {
      const c10::AutoGradMode with_gradients(true);
      loss(leaves).backward();
    }
    const at::Tensor direction = weights[m].sin();
    const double slope = (leaves[m].grad() * direction).sum().item<double>(), step = 1e-3;
    std::vector<at::Tensor> up = weights, down = weights;
    up[m] = weights[m] + step * direction;
    down[m] = weights[m] - step * direction;
    const double measured = (loss(up) - loss(down)).item<double>() / (2 * step);
    EXPECT_NEAR(slope, measured, 0.02 * std::abs(measured) + 1e-3) << m;
  }
  EXPECT_TRUE(at::equal(model.block(1, samples[2]), block.target(2)));  // the model is unharmed
}

/// Runs the method and returns the most weight bytes that the model held when a unit was done.
int64_t most_resident(Model& model, const QuantStep& step, UnitStore& store, Outcome& out) {
  int64_t most = 0;
  QuantizeJob job{.model = model,
                  .steps = {step},
                  .calibration = calibration(),
                  .model_key = "tiny",
                  .seed = 3,
                  .store = store,
                  .done = out.done,
                  .on_unit = [&](const auto&, bool skipped, int64_t, int64_t) {
                    ++out.units;
                    out.skipped += skipped;
                    most = std::max(most, model.resident_bytes());
                  }};
  out.key = quantize_model(job);
  return most;
}

TEST(QuantizeModel, HoldsOneBlockAndGivesFinishedOnesAgain) {
  format::ModelConfig config = tiny_config();
  config.layers = 6;
  Model origin = lively_model(config, 5);
  const int64_t block = origin.layer(0).bytes();
  for (const char* method : {"rtn", "gptq", "sign-round"}) {
    SCOPED_TRACE(method);
    const TemporaryFolder folder;
    UnitStore store(folder / "run");
    const QuantStep how =
        step(method, std::string(method) == "sign-round" ? "{objective: block, steps: 2, batch: 2}"
                                                         : "{layout: {uniform: {bits: 4}}}");
    Outcome once, again;
    const auto source = std::make_shared<MemoryCheckpoint>(origin);
    Model model(source, {}), resumed(source, {});
    EXPECT_EQ(most_resident(model, how, store, once), block);
    EXPECT_EQ(model.resident_bytes(), 0);
    EXPECT_EQ(once.done.size(), 6 * 7u);
    for (const auto& [name, m] : once.done) {
      const auto id = *format::id_of_canonical(config.architecture(), name);
      EXPECT_TRUE(at::equal(model.peek(id), decoded_weight(store.load_code(m)))) << name;
      EXPECT_FALSE(at::equal(model.peek(id), origin.weight(id))) << name;
    }
    EXPECT_LE(most_resident(resumed, how, store, again), block);
    EXPECT_EQ(again.skipped, again.units);
    const at::Tensor ids = random_ids(1, 9, 37, 8);
    EXPECT_TRUE(at::equal(model.forward(ids), resumed.forward(ids)));
  }
}

TEST(SignRoundOfBlocks, OutputOfTheBlockIsNearer) {
  at::set_num_threads(1);
  for (const char* transform : {"none", "{hadamard: {block: 8}}"}) {
    SCOPED_TRACE(transform);
    const auto error = [&](const char* method, const std::string& more) {
      const TemporaryFolder folder;
      UnitStore store(folder / "run");
      Model original = lively_model(tiny_config(), 5), model = original.clone();
      quantize(model,
               {step(method, cat("{layers: model.layers.0.*, layout: {uniform: {bits: 3, ",
                                 "group: 32}}, scale: mse, transform: ", transform, more, "}"))},
               store);
      return block_error(original, model);
    };
    const double block = error("sign-round", ", objective: block, batch: 3, steps: 60");
    EXPECT_LT(block, 0.75 * error("rtn", ", metric: activation"));
    EXPECT_LT(block, error("sign-round", ", steps: 60"));
  }
}

TEST(SignRoundOfBlocks, AUnitIsABlockAndIsFoundAgain) {
  const TemporaryFolder folder;
  UnitStore store(folder / "run");
  const std::string recipe = "{layout: {uniform: {bits: 4}}, objective: block, steps: 4, batch: 2}";
  Model first = lively_model(tiny_config(), 5), second = first.clone();
  const Outcome once = quantize(first, {step("sign-round", recipe)}, store),
                again = quantize(second, {step("sign-round", recipe)}, store);
  EXPECT_EQ(once.total, 3);  // layers
  EXPECT_EQ(once.units, 3);
  EXPECT_EQ(once.skipped, 0);
  EXPECT_EQ(once.done.size(), 21u);
  EXPECT_EQ(again.skipped, 3);
  EXPECT_EQ(again.key, once.key);
  const at::Tensor ids = random_ids(1, 9, 37, 8);
  EXPECT_TRUE(at::equal(first.forward(ids), second.forward(ids)));
  for (const auto& [name, m] : once.done) {
    EXPECT_TRUE(m.weighted) << name;
    EXPECT_NE(m.note.find("block: "), std::string::npos) << m.note;
    EXPECT_EQ(m.fallback, "");
  }
}

TEST(SignRoundOfBlocks, OtherStepsTakeTheRestOfTheBlock) {
  const TemporaryFolder folder;
  UnitStore store(folder / "run");
  Model model = lively_model(tiny_config(), 5);
  const Outcome out =
      quantize(model,
               {step("sign-round", "{layers: \"*.mlp.*\", objective: block, steps: 4, batch: 2}"),
                step("rtn", "{}")},
               store);
  EXPECT_EQ(out.done.size(), 21u);
  EXPECT_EQ(out.total, 3 * (1 + 2));  // the MLP at once; q/k/v and the attention's output
  for (const auto& [name, m] : out.done)
    EXPECT_EQ(m.method, name.find(".mlp.") != std::string::npos ? "quant.sign-round" : "quant.rtn")
        << name;
}

TEST(SignRoundOfBlocks, AnExpertThatNoTokenReachesIsRoundedPlainly) {
  format::ModelConfig config = tiny_config();
  config.family = "mixtral";
  config.layers = 1;
  config.kinds = {{.sparse = true}};
  config.experts = {.count = 4, .active = 1, .width = 24};
  Model model = lively_model(config, 5);
  at::Tensor& router_ei = model.layer(0).of(format::Role::router);
  router_ei[3].copy_(router_ei.slice(0, 0, 3).mean(0));  // never the largest
  const TemporaryFolder folder;
  UnitStore store(folder / "run");
  const Outcome out =
      quantize(model, {step("sign-round", "{objective: block, steps: 8, batch: 3}")}, store);
  EXPECT_EQ(out.total, 1);
  ASSERT_EQ(out.done.size(), 4u + 4 * 3);
  int64_t plain = 0;
  for (const auto& [name, m] : out.done) {
    const bool dead = name.find("experts.3.") != std::string::npos;
    EXPECT_EQ(m.fallback, dead ? "plain rounding: no calibration token reached it" : "") << name;
    EXPECT_EQ(m.weighted, !dead) << name;
    EXPECT_LT(m.relative_error, 0.1) << name;
    plain += dead;
  }
  EXPECT_EQ(plain, 3);
}

}  // namespace
}  // namespace cupel::core
