// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// A model whose inputs are rounded, quantized by the pipeline and written: LibTorch and the runtime
// compute the same of it.
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "core/pipeline/quantize.h"
#include "core/tensor_util.h"
#include "export/artifact_writer.h"
#include "format/layouts/dense.h"
#include "runtime/session.h"
#include "tests/unit/core/tiny_model.h"
#include "tests/unit/quant/methods_for_test.h"

namespace cupel {
namespace {

/// Quantizes with one step, or several, and keeps what an exporter needs.
struct QuantizedRun {
  core::TemporaryFolder folder;
  core::UnitStore store;
  core::Model model;
  std::map<std::string, core::FinishedMatrix> done;

  QuantizedRun(core::Model start, const std::vector<std::pair<std::string, std::string>>& steps)
      : store(folder / "run"), model(std::move(start)) {
    const c10::NoGradGuard no_grad;
    std::vector<core::QuantStep> list;
    for (const auto& [method, yaml] : steps)
      list.push_back({"quant." + method, quant::testing::make(method, yaml),
                      std::dynamic_pointer_cast<const core::QuantizerParams>(
                          quant::testing::params_of(method, yaml))});
    std::vector<std::vector<int32_t>> samples;
    for (uint64_t n = 0; n < 8; ++n) samples.push_back(tokens(48, 70 + n));
    core::QuantizeJob job{model, list, samples, "start", 3, store, done, {}};
    core::quantize_model(job);
  }

  static std::vector<int32_t> tokens(int64_t count, uint64_t seed) {
    const at::Tensor ids = core::random_ids(1, count, 37, seed).to(at::kInt);
    const int32_t* first = ids.const_data_ptr<int32_t>();
    return {first, first + count};
  }

  std::string write() {
    export_::ArtifactContent content{format::config_to_json(model.config()), "", "{}", {}};
    for (const auto& [name, value] : model.named_weights()) {
      if (const auto found = done.find(name); found != done.end()) {
        content.weights.push_back(
            {name, [this, &matrix = found->second] { return store.load_code(matrix); }});
        continue;
      }
      const at::Tensor host = core::host_float(value);
      const int64_t rows = host.dim() > 1 ? host.size(0) : 1;
      content.weights.push_back({name, [host, rows] {
                                   return format::dense_code(format::ElementType::f32, rows,
                                                             host.numel() / rows,
                                                             core::floats(host));
                                 }});
    }
    const std::string path = folder / "model.cupel";
    export_::write_artifact(path, content);
    return path;
  }
};

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
  QuantizedRun run(core::lively_model(core::tiny_config(), 5), {{"gptq", GetParam()}});
  const std::string path = run.write();
  core::Model read(format::Checkpoint::open(path), {});
  const auto ids = QuantizedRun::tokens(40, 9);
  const at::Tensor exact = runtime_logits(path, ids);
  EXPECT_LT(largest_difference(torch_logits(run.model, ids), torch_logits(read, ids)), 1e-4);
  EXPECT_LT(largest_difference(torch_logits(read, ids), exact), 1e-4);
  core::Model untouched = core::lively_model(core::tiny_config(), 5);
  for (const auto& [name, m] : run.done)
    untouched.set_weight(*format::id_of_canonical(read.config().architecture(), name),
                         core::decoded_weight(m.result.code));
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
  QuantizedRun run(core::lively_model(core::tiny_config(), 6),
                   {{"rtn", "{layout: {uniform: {bits: 8}}, activations: int8}"}});
  const std::string path = run.write();
  const auto ids = QuantizedRun::tokens(40, 9);
  EXPECT_TRUE(
      at::equal(runtime_logits(path, ids), runtime_logits(path, ids, runtime::Activations::int8)));
}

TEST(RoundedModel, WhatComesLaterSeesTheRounding) {
  // A scale from calibration depends on what enters the block: rounding before it shows there.
  const auto scale_after = [](const std::string& first) {
    QuantizedRun run(
        core::lively_model(core::tiny_config(), 7),
        {{"rtn", "{layers: \"*.layers.0.*\", layout: {dense: {type: f32}}" + first + "}"},
         {"rtn",
          "{layers: \"*.layers.1.*\", layout: {dense: {type: f32}}, activations: "
          "{int8: {scale: static}}}"}});
    return run.done.at("model.layers.1.mlp.down_proj.weight").result.code.rounding.scale;
  };
  EXPECT_NE(scale_after(""), scale_after(", activations: int4"));
}

TEST(RoundedModel, MatricesThatShareAnInputShareItsRounding) {
  const std::vector<std::pair<std::string, std::string>> steps = {
      {"rtn", "{layers: \"*.up_proj\", activations: int8}"}, {"rtn", "{layers: \"*\"}"}};
  try {
    QuantizedRun(core::lively_model(core::tiny_config(), 8), steps);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    for (const char* part :
         {"up_proj.weight: activations none expected", "gate_proj.weight", "int8 per token found"})
      EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

TEST(RoundedModel, AHeadRoundsButAnEmbeddingIsLookedUp) {
  auto config = core::tiny_config();
  config.tied_head = false;
  QuantizedRun run(core::lively_model(config, 9),
                   {{"rtn",
                     "{layers: \"model.embed_tokens,lm_head\", layout: {uniform: {bits: 8}}, "
                     "activations: int8}"}});
  EXPECT_TRUE(run.done.at("model.embed_tokens.weight").result.code.rounding.none());
  EXPECT_FALSE(run.done.at("lm_head.weight").result.code.rounding.none());
  const auto ids = QuantizedRun::tokens(30, 9);
  EXPECT_LT(largest_difference(torch_logits(run.model, ids), runtime_logits(run.write(), ids)),
            1e-4);
}

}  // namespace
}  // namespace cupel
