// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "export/hf_tensors.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "format/architecture.h"
#include "tests/unit/export/tiny_model.h"

namespace cupel::export_ {
namespace {

using format::ElementType;
using format::WeightId;
using Json = nlohmann::json;
using test::TemporaryFolder;

Json config_of(const Json& more) {
  Json json = {{"vocab_size", 40},         {"hidden_size", 24},
               {"num_hidden_layers", 2},   {"num_attention_heads", 2},
               {"num_key_value_heads", 1}, {"intermediate_size", 20},
               {"head_dim", 12},           {"max_position_embeddings", 64}};
  json.update(more);
  return json;
}

/// Families whose folders put several weights in one tensor: names and shapes of such a tensor.
struct Case {
  Json config;
  std::string tensor;
  std::vector<int64_t> shape;
};
const std::vector<Case> kCases = {
    {config_of({{"model_type", "phi3"}}), "model.layers.1.self_attn.qkv_proj.weight", {48, 24}},
    {config_of({{"model_type", "phi3"}}), "model.layers.0.mlp.gate_up_proj.weight", {40, 24}},
    {config_of({{"model_type", "granitemoe"}, {"num_local_experts", 3}}),
     "model.layers.0.block_sparse_moe.input_linear.weight",
     {3, 40, 24}},
    {config_of({{"model_type", "gpt_oss"}, {"num_local_experts", 5}, {"num_experts_per_tok", 2}}),
     "model.layers.0.mlp.experts.gate_up_proj",
     {5, 24, 40}},
    {config_of({{"model_type", "gpt_oss"}, {"num_local_experts", 5}, {"num_experts_per_tok", 2}}),
     "model.layers.1.mlp.experts.down_proj_bias",
     {5, 24}},
    {config_of({{"model_type", "qwen3_moe"},
                {"num_experts", 4},
                {"num_experts_per_tok", 2},
                {"moe_intermediate_size", 8}}),
     "model.layers.1.mlp.experts.3.up_proj.weight",
     {8, 24}},
};

/// Values that tell where they belong.
void fill(const format::ModelConfig& config, const WeightId& id, std::span<float> out) {
  Rng rng(3, format::canonical_name(config.architecture(), id));
  for (float& x : out) x = static_cast<float>(rng.normal());
}

TEST(HfTensors, FusedFamiliesComeBackWeightByWeight) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.tensor);
    const format::ModelConfig config = format::config_from_json(c.config.dump());
    const TemporaryFolder folder;
    const auto tensors = hf_tensors(
        config, [](const WeightId&) { return ElementType::f32; },
        [&](const WeightId& id, std::span<float> out) { fill(config, id, out); });
    const auto found = std::ranges::find(tensors, c.tensor, &OutputTensor::name);
    ASSERT_NE(found, tensors.end());
    EXPECT_EQ(found->shape, c.shape);
    write_hf_folder(folder / "m", tensors, format::config_to_json(config), "");
    const auto back = format::Checkpoint::open(folder / "m");
    EXPECT_EQ(back->config(), config);
    for (const auto& w : back->weights()) {
      std::size_t count = 1;
      for (const int64_t n : w.shape) count *= static_cast<std::size_t>(n);
      std::vector<float> got(count), wanted(count);
      back->read(w.name, got);
      fill(config, w.id, wanted);
      ASSERT_EQ(got, wanted) << w.name;
    }
  }
}

TEST(HfTensors, WhatIsNotRunPassesThroughByteForByte) {
  const TemporaryFolder folder;
  Json json = config_of({{"model_type", "llama"}});
  const format::ModelConfig config = format::config_from_json(json.dump());
  const auto type = [](const WeightId&) { return ElementType::bf16; };
  const auto read = [&](const WeightId& id, std::span<float> out) { fill(config, id, out); };
  auto tensors = hf_tensors(config, type, read);
  const std::vector<std::byte> pixels(48, std::byte{7});
  tensors.push_back({"vision_tower.patch.weight", {2, 3, 4}, ElementType::f16, {}, pixels});
  write_hf_folder(folder / "a", tensors, format::config_to_json(config), "");
  const auto first = format::Checkpoint::open(folder / "a");
  ASSERT_EQ(first->passed_through().size(), 1u);
  auto again = hf_tensors(first->config(), type, read);
  for (auto& t : passed_tensors(*first)) again.push_back(std::move(t));
  write_hf_folder(folder / "b", again, first->config_json(), "");
  const auto second = format::Checkpoint::open(folder / "b");
  ASSERT_EQ(second->passed_through().size(), 1u);
  const auto& passed = *second->passed_through().front();
  EXPECT_EQ(passed.name, "vision_tower.patch.weight");
  EXPECT_EQ(passed.type, ElementType::f16);
  EXPECT_TRUE(std::ranges::equal(passed.bytes, pixels));
}

}  // namespace
}  // namespace cupel::export_
