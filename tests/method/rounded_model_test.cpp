// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// A model whose inputs are rounded, quantized by the pipeline and written: LibTorch and the runtime
// compute the same of it.
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "runtime/session.h"
#include "tests/method/pipeline_run.h"

namespace cupel {
namespace {

using quant::testing::PipelineRun;

at::Tensor torch_logits(core::Model& model, const std::vector<int32_t>& ids) {
  const c10::NoGradGuard no_grad;
  return model.forward(core::ids_tensor(ids, at::kCPU))[0];
}

at::Tensor runtime_logits(const std::string& path, const std::vector<int32_t>& ids,
                          runtime::Activations activations = runtime::Activations::exact) {
  runtime::Session session(runtime::Model::open(path, {.activations = activations}),
                           {.threads = 2, .kv = runtime::KvType::f32});
  const auto logits = session.forward(ids, static_cast<int64_t>(ids.size()));
  return core::tensor_of(std::span<const float>(logits.data(), logits.size()),
                         {static_cast<int64_t>(ids.size()), 37});
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

class RoundedModel : public ::testing::TestWithParam<std::string> {};

TEST_P(RoundedModel, LibTorchAndTheRuntimeAgree) {
  PipelineRun run(core::lively_model(core::tiny_config(), 5), {{"gptq", GetParam()}});
  const std::string path = run.write();
  core::Model read(format::Checkpoint::open(path), {});
  const auto ids = PipelineRun::tokens(40, 9);
  const at::Tensor exact = runtime_logits(path, ids);
  EXPECT_LT(largest_difference(torch_logits(run.model, ids), torch_logits(read, ids)), 1e-4);
  EXPECT_LT(largest_difference(torch_logits(read, ids), exact), 1e-4);
  core::Model untouched = core::lively_model(core::tiny_config(), 5);
  for (const auto& [name, m] : run.done)
    untouched.set_weight(*format::id_of_canonical(read.config().architecture(), name),
                         core::decoded_weight(run.store.load_code(m)));
  EXPECT_GT(largest_difference(torch_logits(untouched, ids), exact), 1e-3) << "nothing was rounded";
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, RoundedModel,
    ::testing::Values(
        "{layout: {uniform: {bits: 8}}, activations: int8}",
        "{layout: {uniform: {bits: 8}}, activations: int8, transform: {hadamard: {block: 8}}}",
        "{layout: {uniform: {bits: 8}}, activations: int8, transform: smooth}",
        "{layout: {uniform: {bits: 8}}, activations: {int8: {scale: static}}}",
        "{layout: {uniform: {bits: 8}}, activations: int4, transform: {hadamard: {block: 0}}}",
        "{layout: {dense: {type: f16}}, activations: fp8}",
        "{layout: {dense: {type: f16}}, activations: {int8: {group: 8}}, transform: smooth}",
        "{layout: fp8, activations: {fp8: {scale: static}}}"));

TEST(RoundedModel, IntegersAreRoundedOnceInEveryMode) {
  PipelineRun run(core::lively_model(core::tiny_config(), 6),
                  {{"rtn", "{layout: {uniform: {bits: 8}}, activations: int8}"}});
  const std::string path = run.write();
  const auto ids = PipelineRun::tokens(40, 9);
  // Blocks are as wide as the mode wants them, so sums have another order; that is all.
  EXPECT_LT(largest_difference(runtime_logits(path, ids),
                               runtime_logits(path, ids, runtime::Activations::int8)),
            1e-4);
}

TEST(RoundedModel, WhatComesLaterSeesTheRounding) {
  // A scale from calibration depends on what enters the block: rounding before it shows there.
  const auto scale_after = [](const std::string& first) {
    PipelineRun run(
        core::lively_model(core::tiny_config(), 7),
        {{"rtn", "{layers: \"*.layers.0.*\", layout: {dense: {type: f32}}" + first + "}"},
         {"rtn",
          "{layers: \"*.layers.1.*\", layout: {dense: {type: f32}}, activations: "
          "{int8: {scale: static}}}"}});
    return run.done.at("model.layers.1.mlp.down_proj.weight").rounding.scale;
  };
  EXPECT_NE(scale_after(""), scale_after(", activations: int4"));
}

TEST(RoundedModel, MatricesThatShareAnInputShareItsRounding) {
  const std::vector<std::pair<std::string, std::string>> steps = {
      {"rtn", "{layers: \"*.up_proj\", activations: int8}"}, {"rtn", "{layers: \"*\"}"}};
  try {
    PipelineRun(core::lively_model(core::tiny_config(), 8), steps);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    for (const char* part :
         {"up_proj.weight: activations none expected", "gate_proj.weight", "int8 per token found"})
      EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

TEST(RoundedModel, AMethodThatTakesTheBlockAsAWholeRoundsEachInputOnItsOwn) {
  PipelineRun run(core::lively_model(core::tiny_config(), 8),
                  {{"sign-round",
                    "{objective: block, steps: 4, layout: {uniform: {bits: 8}}, activations: "
                    "{int8: {scale: static}}}"}});
  const auto scale = [&](const char* name) {
    return run.done.at(cat("model.layers.1.", name, ".weight")).rounding.scale;
  };
  EXPECT_GT(scale("mlp.down_proj"), 0);
  EXPECT_EQ(scale("mlp.gate_proj"), scale("mlp.up_proj"));
  EXPECT_NE(scale("mlp.gate_proj"), scale("mlp.down_proj"));
  const auto ids = PipelineRun::tokens(30, 9);
  EXPECT_LT(largest_difference(torch_logits(run.model, ids), runtime_logits(run.write(), ids)),
            1e-4);
}

TEST(RoundedModel, AFileThatRoundsASharedInputInTwoWaysIsRefused) {
  PipelineRun run(core::lively_model(core::tiny_config(), 8),
                  {{"rtn", "{layout: {uniform: {bits: 8}}, activations: int8}"}});
  const std::string path = run.write([](const std::string& name, format::WeightCode& code) {
    if (name == "model.layers.1.mlp.up_proj.weight") code.rounding = {};
  });
  try {
    runtime::Model::open(path, {});
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::data);
    for (const char* part : {"up_proj.weight: inputs rounded as for", "gate_proj.weight",
                             "(int8 per token) expected", "none found"})
      EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

TEST(RoundedModel, AHeadRoundsButAnEmbeddingIsLookedUp) {
  auto config = core::tiny_config();
  config.tied_head = false;
  PipelineRun run(core::lively_model(config, 9),
                  {{"rtn",
                    "{layers: \"model.embed_tokens,lm_head\", layout: {uniform: {bits: 8}}, "
                    "activations: int8}"}});
  EXPECT_TRUE(run.done.at("model.embed_tokens.weight").rounding.none());
  EXPECT_FALSE(run.done.at("lm_head.weight").rounding.none());
  const auto ids = PipelineRun::tokens(30, 9);
  EXPECT_LT(largest_difference(torch_logits(run.model, ids), runtime_logits(run.write(), ids)),
            1e-4);
}

}  // namespace
}  // namespace cupel
