// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/file.h"
#include "files_util.h"
#include "format/architecture.h"

namespace cupel::format {
namespace {

using Json = nlohmann::json;
using test::expect_error;

Json base() {
  return Json{{"model_type", "llama"},         {"hidden_size", 64},        {"num_hidden_layers", 2},
              {"num_attention_heads", 4},      {"num_key_value_heads", 2}, {"vocab_size", 100},
              {"intermediate_size", 96},       {"rms_norm_eps", 1e-5},     {"rope_theta", 5e5},
              {"max_position_embeddings", 128}};
}
Json with(const Json& more) {
  Json json = base();
  json.update(more);
  return json;
}
ModelConfig read(const Json& json, std::vector<std::string>* notes = nullptr) {
  return config_from_json(json.dump(), notes);
}

TEST(Config, Fields) {
  const ModelConfig c = read(base());
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.rope.theta, 5e5);
  EXPECT_FALSE(c.tied_head);
  EXPECT_EQ(c.shape_of(Role::key), (std::vector<int64_t>{32, 64}));
  EXPECT_EQ(c.shape_of(Role::down), (std::vector<int64_t>{64, 96}));
  EXPECT_EQ(read(with({{"head_dim", 32}})).shape_of(Role::output), (std::vector<int64_t>{64, 128}));
}

TEST(Config, RopeSpellings) {
  const Json scaling = {{"rope_type", "llama3"},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 16}};
  const ModelConfig v4 = read(with({{"rope_scaling", scaling}}));
  Json v5 = scaling;
  v5["rope_theta"] = 5e5;
  Json json = with({{"rope_parameters", v5}});
  json.erase("rope_theta");
  const ModelConfig c = read(json);
  EXPECT_EQ(c.rope.type, "llama3");
  EXPECT_EQ(rope_frequencies(c.rope, 16), rope_frequencies(v4.rope, 16));
  EXPECT_EQ(read(with({{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}})).rope.factor, 4);
  expect_error(Fault::data, "'ntk'", [] {
    read(with({{"rope_scaling", {{"type", "ntk"}, {"factor", 4}}}}));
  });
  expect_error(Fault::data, "'factor'", [] {
    read(with({{"rope_scaling", {{"type", "linear"}}}}));
  });
}

TEST(Config, WhatIsNotUsedIsHeard) {
  std::vector<std::string> notes;
  const Json both = with({{"rope_scaling", {{"type", "linear"}, {"factor", 8}}},
                          {"rope_parameters", {{"rope_type", "default"}}}});
  EXPECT_EQ(read(both, &notes).rope.type, "default");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("both"), std::string::npos);
  const Json gemma = with({{"model_type", "gemma"}, {"head_dim", 16}});
  EXPECT_EQ(read(gemma).activation, Activation::gelu_tanh);
  Json other = gemma;
  other["hidden_act"] = "silu";
  expect_error(Fault::data, "hidden_act", [&] { read(other); });
}

TEST(Config, RopeFrequencies) {
  Rope rope{.type = "llama3",
            .theta = 10000,
            .factor = 8,
            .low_freq_factor = 1,
            .high_freq_factor = 4,
            .original_positions = 64};
  const auto f = rope_frequencies(rope, 8);
  EXPECT_EQ(f[0], 1.0);              // wavelength 6.3: kept
  EXPECT_DOUBLE_EQ(f[2], 0.01 / 8);  // 628: divided
  const double wavelength = 2 * std::numbers::pi * 10, smooth = (64 / wavelength - 1) / 3;
  EXPECT_DOUBLE_EQ(f[1], (1 - smooth) * 0.1 / 8 + smooth * 0.1);
  rope.type = "linear";
  EXPECT_DOUBLE_EQ(rope_frequencies(rope, 8)[1], 0.1 / 8);
}

TEST(Config, EveryKeyIsUsedHarmlessOrReported) {
  std::vector<std::string> notes;
  read(with({{"use_cache", true}, {"some_colour", "red"}, {"sliding_window", nullptr}}), &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("some_colour"), std::string::npos);
  for (const Json& bad : {Json{{"query_pre_attn_scalar", 64}}, Json{{"router_type", "soft"}},
                          Json{{"embedding_multiplier", 12.0}}, Json{{"hidden_act", "relu2"}},
                          Json{{"layer_types", {"full_attention", "linear_attention"}}}})
    expect_error(Fault::data, bad.begin().key(), [&] { read(with(bad)); });
}

TEST(Config, BadValues) {
  for (const Json& bad :
       {Json{{"hidden_size", 0}}, Json{{"vocab_size", "x"}}, Json{{"num_key_value_heads", 3}},
        Json{{"rms_norm_eps", 0}}, Json{{"hidden_size", 1e30}}, Json{{"model_type", "mamba"}},
        Json{{"num_hidden_layers", 2.5}}, Json{{"head_dim", 15}},
        Json{{"rope_scaling", {{"type", "yarn"}}}}})
    expect_error(Fault::data, "", [&] { read(with(bad)); });
  expect_error(Fault::data, "not valid JSON", [] { config_from_json("{"); });
  expect_error(Fault::data, "not an object", [] { config_from_json("[1]"); });
}

TEST(Config, DeepNestingIsRefused) {
  for (const int depth : {100, 200, 300000}) {
    const auto n = static_cast<std::size_t>(depth);
    const std::string json = R"({"model_type":"llama","quantization_config":)" +
                             std::string(n, '[') + std::string(n, ']') + "}";
    expect_error(Fault::data, "nested more than 100", [&] { config_from_json(json); });
  }
}

TEST(Config, PythonNumbers) {
  std::string text = base().dump();
  text.insert(1,
              "\"x\": NaN, \"y\": \"NaN \\\" Infinity\", \"z\": [-Infinity],"
              "\"model_max_length\": 1000000000000000019884624838656,");
  EXPECT_EQ(config_from_json(text).hidden, 64);
  text.insert(1, "\"head_dim\": Infinity,");
  expect_error(Fault::data, "'head_dim' is \"Infinity\"", [&] { config_from_json(text); });
}

TEST(Config, WriteAndPatch) {
  ModelConfig c = read(with({{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}}));
  const ModelConfig again = config_from_json(config_to_json(c));
  EXPECT_EQ(again.rope.factor, 4);
  EXPECT_EQ(again.intermediate, 96);
  c.layers = 1;
  c.intermediate = 80;
  const Json original = with({{"dtype", "bfloat16"},
                              {"eos_token_id", {1, 2}},
                              {"layer_types", {"full_attention", "full_attention"}}});
  c.rope = read(original).rope;
  const auto patched = Json::parse(config_to_json(c, original.dump()));
  EXPECT_EQ(patched["dtype"], "bfloat16");
  EXPECT_EQ(patched["eos_token_id"], Json({1, 2}));
  EXPECT_EQ(patched["num_hidden_layers"], 1);
  EXPECT_EQ(patched["layer_types"].size(), 1u);
  EXPECT_FALSE(patched.contains("rope_scaling"));
  EXPECT_EQ(read(patched).intermediate, 80);
}

/// What was written anew says the same, and so does a patch that changes nothing.
void expect_round_trip(const ModelConfig& c, const std::string& text) {
  EXPECT_EQ(config_from_json(config_to_json(c)), c);
  EXPECT_EQ(config_from_json(config_to_json(c, text)), c);
}

TEST(ConfigFixture, RealConfigs) {
  for (const char* name : {"Llama-2-7b-hf",
                           "Llama-2-13b-hf",
                           "Llama-3.2-1B-Instruct",
                           "Meta-Llama-3.1-8B",
                           "Meta-Llama-3.1-70B",
                           "SmolLM2-135M",
                           "Mixtral-8x7B-v0.1",
                           "Qwen2.5-0.5B",
                           "Qwen2.5-1.5B",
                           "Qwen2.5-7B",
                           "Qwen2.5-32B",
                           "Qwen3-0.6B",
                           "Qwen3-1.7B",
                           "Qwen3-8B",
                           "Qwen3-32B",
                           "Qwen3-30B-A3B",
                           "Qwen3-30B-A3B-FP8",
                           "DeepSeek-V3",
                           "gpt-oss-20b",
                           "class-default.deepseek_v2",
                           "class-default.gemma2",
                           "class-default.gemma3_text",
                           "class-default.granite",
                           "class-default.granitemoe",
                           "class-default.mistral",
                           "class-default.olmo2",
                           "class-default.olmoe",
                           "class-default.phi3",
                           "class-default.smollm3"}) {
    SCOPED_TRACE(name);
    const std::string path = test::shared_path(cat("data/configs/", name, ".json"));
    if (path.empty()) GTEST_SKIP() << "data/configs/" << name << ".json is missing";
    std::vector<std::string> notes;
    const std::string text = read_text(path);
    const ModelConfig c = config_from_json(text, &notes);
    EXPECT_TRUE(notes.empty()) << notes.front();
    expect_round_trip(c, text);
  }
  for (const char* name : {"Llama-4-Scout-17B-16E-Instruct", "Nemotron-H-56B-Base-8K",
                           "class-default.minicpm3", "gemma-4-26B-A4B", "Qwen3.5-35B-A3B"})
    expect_error(Fault::data, "not supported", [&] {
      config_from_json(read_text(test::shared_path(cat("data/configs/", name, ".json"))));
    });
}

TEST(Config, LayersKeepTheirKindsWhenSomeAreTakenOut) {
  const Json mixed = with({{"model_type", "smollm3"},
                           {"num_hidden_layers", 4},
                           {"no_rope_layers", {1, 1, 1, 0}},
                           {"layer_types", Json(4, "full_attention")}});
  ModelConfig c = read(mixed);
  c.kinds.erase(c.kinds.begin() + 1);
  c.layers = 3;
  const ModelConfig again = config_from_json(config_to_json(c, mixed.dump()));
  EXPECT_EQ(again.kinds, c.kinds);
  EXPECT_FALSE(again.kind(2).rope);
}

TEST(Architecture, NamesGoBothWays) {
  const Architecture& a = architecture_of_family("llama");
  ModelConfig c;
  c.family = "llama";
  c.layers = 12;
  for (const WeightId id : weight_ids(c)) {
    EXPECT_EQ(id_of_canonical(a, canonical_name(a, id)), id);
    EXPECT_EQ(id_of_gguf(a, gguf_name(a, id)), id);
  }
  EXPECT_EQ(canonical_name(a, {Role::up, 3}), "model.layers.3.mlp.up_proj.weight");
  EXPECT_EQ(gguf_name(a, {Role::up, 3}), "blk.3.ffn_up.weight");
  EXPECT_FALSE(id_of_gguf(a, "blk.x.ffn_up.weight"));
  EXPECT_FALSE(id_of_gguf(a, "blk.03.ffn_up.weight"));
  EXPECT_FALSE(id_of_canonical(a, "model.layers.99999999999.mlp.up_proj.weight"));
  c.layers = 2;
  c.tied_head = true;
  EXPECT_EQ(weight_ids(c).size(), 2u * 9 + 2);
}

}  // namespace
}  // namespace cupel::format
