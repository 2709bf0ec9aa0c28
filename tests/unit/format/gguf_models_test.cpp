// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Tiny models of every family, written as GGUF and read back: every weight and the configuration
// must come out as from the Hugging Face folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "export/safetensors_writer.h"
#include "files_util.h"
#include "format/checkpoint.h"
#include "format/container.h"
#include "gguf_convert.h"

namespace cupel::format {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::GgufModel;
using test::to_gguf;

std::vector<float> read(const Checkpoint& c, const WeightInfo& w) {
  std::size_t count = 1;
  for (const int64_t n : w.shape) count *= static_cast<std::size_t>(n);
  std::vector<float> out(count);
  c.read(w.name, out);
  return out;
}

/// What no key of GGUF says has the value of all released models.
ModelConfig as_gguf_can_say(ModelConfig c) {
  if (c.family == "smollm3")
    for (std::size_t i = 0; i < c.kinds.size(); ++i) c.kinds[i].rope = (i + 1) % 4 != 0;
  if (c.family == "gpt_oss") {
    c.swiglu_limit = 7;
    c.swiglu_alpha = 1.702;
  }
  if (c.is_low_rank()) c.rope.mscale = c.rope.mscale_all_dim;
  c.extra_layers = 0;
  return c;
}

void expect_same(const ModelConfig& a, const ModelConfig& b) {
#define EXPECT_FIELD(field) EXPECT_TRUE(a.field == b.field) << #field
  EXPECT_EQ(a.family, b.family);
  EXPECT_FIELD(vocab);
  EXPECT_FIELD(hidden);
  EXPECT_FIELD(layers);
  EXPECT_FIELD(heads);
  EXPECT_FIELD(kv_heads);
  EXPECT_FIELD(head_dim);
  EXPECT_FIELD(value_dim);
  EXPECT_FIELD(intermediate);
  EXPECT_FIELD(max_positions);
  EXPECT_FIELD(norm_eps);
  EXPECT_FIELD(tied_head);
  EXPECT_FIELD(activation);
  EXPECT_FIELD(swiglu_limit);
  EXPECT_FIELD(swiglu_alpha);
  EXPECT_FIELD(norm_plus_one);
  EXPECT_FIELD(pre_norm);
  EXPECT_FIELD(post_norm);
  EXPECT_FIELD(rope);
  EXPECT_FIELD(local_rope);
  EXPECT_FIELD(score_scale);
  EXPECT_FIELD(score_cap);
  EXPECT_FIELD(clip_qkv);
  EXPECT_FIELD(query_key_norm);
  EXPECT_FIELD(qkv_bias);
  EXPECT_FIELD(output_bias);
  EXPECT_FIELD(mlp_bias);
  EXPECT_FIELD(sinks);
  EXPECT_FIELD(low_rank);
  EXPECT_FIELD(kinds);
  EXPECT_FIELD(experts);
  EXPECT_FIELD(extra_layers);
  EXPECT_FIELD(embedding_scale);
  EXPECT_FIELD(residual_scale);
  EXPECT_FIELD(logit_divisor);
  EXPECT_FIELD(logit_cap);
#undef EXPECT_FIELD
}

void expect_same_weights(const Checkpoint& wanted, const Checkpoint& got) {
  ASSERT_EQ(wanted.weights().size(), got.weights().size());
  for (std::size_t i = 0; i < got.weights().size(); ++i) {
    const WeightInfo &a = wanted.weights()[i], &b = got.weights()[i];
    ASSERT_EQ(a.name, b.name);
    ASSERT_EQ(a.shape, b.shape) << a.name;
    auto values = read(wanted, a);
    if (wanted.config().norm_plus_one && is_norm(a.id.role))
      for (float& x : values) x = (x + 1) - 1;  // the file holds 1 + x, rounded
    EXPECT_EQ(values, read(got, b)) << a.name;
  }
}

/// A folder with weights made up for a config.json, written, read, written as GGUF, read back.
void expect_round_trip(const nlohmann::json& json, const test::GgufOptions& options = {}) {
  SCOPED_TRACE(json.dump());
  const ModelConfig config = config_from_json(json.dump());
  std::vector<export_::OutputTensor> weights;
  uint32_t state = 1;
  for (const WeightId id : weight_ids(config)) {
    const auto fill = [&state](std::span<float> out) {
      for (float& x : out) {
        state = state * 1664525u + 1013904223u;
        x = static_cast<float>(state >> 16) / 65536 - 0.5f;
      }
    };
    weights.push_back({canonical_name(config.architecture(), id), config.shape_of(id.role),
                       ElementType::f32, fill});
  }
  const test::TempFolder folder;
  export_::write_hf_folder(folder.path(), weights, json.dump(), "", 1 << 20);
  const auto wanted = Checkpoint::open(folder.path());
  const auto got = Checkpoint::open(folder.write("m.gguf", to_gguf(*wanted, options).bytes()));
  expect_same(as_gguf_can_say(wanted->config()), got->config());
  expect_same_weights(*wanted, *got);
}

nlohmann::json small(const char* family, const char* more) {
  nlohmann::json json = {{"model_type", family},          {"hidden_size", 16},
                         {"num_hidden_layers", 2},        {"num_attention_heads", 4},
                         {"num_key_value_heads", 2},      {"vocab_size", 7},
                         {"intermediate_size", 12},       {"tie_word_embeddings", false},
                         {"max_position_embeddings", 256}};
  json.update(nlohmann::json::parse(more));
  return json;
}

TEST(GgufFamilies, Gemma) {
  expect_round_trip(small("gemma", R"({"head_dim":8,"num_key_value_heads":1,
                                       "tie_word_embeddings":true})"));
}

TEST(GgufFamilies, Granite) {
  const char* more = R"({"embedding_multiplier":12,"attention_multiplier":0.015625,
    "residual_multiplier":0.22,"logits_scaling":8,"num_local_experts":3,"num_experts_per_tok":2})";
  expect_round_trip(small("granitemoe", more));
  auto dense = small("granite", more);
  for (const char* key : {"num_local_experts", "num_experts_per_tok"}) dense.erase(key);
  dense["attention_bias"] = dense["mlp_bias"] = true;
  expect_round_trip(dense);
}

TEST(GgufFamilies, DeepSeek) {
  auto json = small("deepseek_v2", R"({"q_lora_rank":null,"kv_lora_rank":8,"qk_nope_head_dim":6,
    "qk_rope_head_dim":4,"v_head_dim":5,"num_key_value_heads":4,"n_routed_experts":4,
    "num_experts_per_tok":2,"moe_intermediate_size":6,"n_shared_experts":2,
    "first_k_dense_replace":1,"routed_scaling_factor":1.0,"topk_method":"greedy",
    "rope_scaling":{"type":"yarn","factor":40,"beta_fast":32,"beta_slow":1,"mscale":0.707,
                    "mscale_all_dim":0.707,"original_max_position_embeddings":64}})");
  expect_round_trip(json);
  expect_round_trip(json, {.old_forms = true});
  json["q_lora_rank"] = 6;
  json["topk_method"] = "group_limited_greedy";
  json["n_group"] = 2;
  json["topk_group"] = 1;
  expect_round_trip(json);
  json.erase("topk_method");
  json["model_type"] = "deepseek_v3";
  json.erase("rope_scaling");
  for (const bool renormalise : {true, false}) {
    json["norm_topk_prob"] = renormalise;
    expect_round_trip(json);
  }
}

TEST(GgufFamilies, Ropes) {
  expect_round_trip(small("qwen2", R"({"rope_theta":1000000,"rope_scaling":{"type":"yarn",
    "factor":4,"original_max_position_embeddings":64}})"));
  expect_round_trip(
      small("llama", R"({"hidden_size":64,"rope_scaling":{"rope_type":"llama3","factor":32,
    "low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":48}})"));
  expect_round_trip(small("phi3", R"({"hidden_size":32,"partial_rotary_factor":0.75,
    "original_max_position_embeddings":64,"sliding_window":null,"tie_word_embeddings":true,
    "rope_scaling":{"type":"longrope","short_factor":[1,1.05,1.1],"long_factor":[1,3.2,17.65]}})"));
}

TEST(GgufFamilies, Mixtures) {
  const char* experts = R"({"num_local_experts":3,"num_experts_per_tok":2,
    "moe_intermediate_size":6,"norm_topk_prob":true,"decoder_sparse_step":2,"head_dim":8})";
  expect_round_trip(small("qwen3_moe", experts));
  expect_round_trip(small("mixtral", R"({"num_local_experts":3})"));
  expect_round_trip(small("mixtral", R"({"num_local_experts":3})"), {.old_forms = true});
}

/// Any damage of the metadata gives an error that says so, or another model.
TEST(GgufFamilies, DamagedMetadata) {
  const auto json = small("mixtral", R"({"num_local_experts":3})");
  const ModelConfig config = config_from_json(json.dump());
  std::vector<export_::OutputTensor> weights;
  for (const WeightId id : weight_ids(config))
    weights.push_back({canonical_name(config.architecture(), id), config.shape_of(id.role),
                       ElementType::f32, [](std::span<float>) {}});
  const test::TempFolder folder;
  export_::write_hf_folder(folder.path(), weights, json.dump(), "", 1 << 20);
  const std::string whole = to_gguf(*Checkpoint::open(folder.path())).bytes();
  const std::size_t head = whole.find("token_embd");
  uint32_t state = 1;
  for (int i = 0; i < 600; ++i) {
    std::string bytes = whole;
    state = state * 1664525u + 1013904223u;
    bytes[24 + (state >> 8) % (head - 24)] ^= static_cast<char>(1 << (state >> 5) % 8);
    const auto path = folder.write("m.gguf", bytes);
    try {
      Checkpoint::open(path);
    } catch (const Error& e) {
      ASSERT_EQ(e.fault(), Fault::data) << e.what();
    }
  }
}

/// The tiny models, unpacked once.
class GgufModels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string archive = test::shared_path("fixtures/tiny-models.tar.xz");
    if (archive.empty()) return;
    folder_ = std::make_unique<test::TempFolder>();
    const std::string command = "tar xf '" + archive + "' -C '" + folder_->path() + "'";
    if (std::system(command.c_str()) != 0) folder_.reset();
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    if (!folder_) GTEST_SKIP() << "fixtures/tiny-models.tar.xz, tar or xz is missing";
  }

  std::unique_ptr<Checkpoint> hf(const std::string& name) const {
    return Checkpoint::open(folder_->path() + "/tiny-models/" + name);
  }
  std::unique_ptr<Checkpoint> gguf(const std::string& bytes) const {
    return Checkpoint::open(folder_->write("m.gguf", bytes));
  }

  static std::unique_ptr<test::TempFolder> folder_;
};
std::unique_ptr<test::TempFolder> GgufModels::folder_;

/// The experts of one kind as GGUF has them, from the packed tensors of the folder.
void replace_by_mxfp4(GgufModel& model, const Container& folder, int layer,
                      const std::string& name) {
  const bool down = name == "down";
  const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.experts." +
                             (down ? "down_proj" : "gate_up_proj");
  const TensorEntry* blocks = folder.find(prefix + "_blocks");
  const TensorEntry* scales = folder.find(prefix + "_scales");
  ASSERT_TRUE(blocks && scales);
  const int64_t experts = scales->shape[0], rows = scales->shape[1], parts = scales->shape[2];
  const int64_t step = down ? 1 : 2, first = name == "up" ? 1 : 0;
  std::string data;
  for (int64_t row = 0; row < experts * rows; ++row) {
    if (row % rows % step != first) continue;
    for (int64_t part = 0; part < parts; ++part) {
      const auto at = static_cast<std::size_t>(row * parts + part);
      const auto nibble = [&](std::size_t i) {
        return std::to_integer<int>(blocks->bytes[at * 16 + i / 2]) >> (4 * (i % 2)) & 15;
      };
      data += static_cast<char>(scales->bytes[at]);
      for (std::size_t i = 0; i < 16; ++i)
        data += static_cast<char>(nibble(i) | nibble(i + 16) << 4);
    }
  }
  const std::string tensor = "blk." + std::to_string(layer) + ".ffn_" + name + "_exps.weight";
  model.replace({tensor, {experts, rows / step, parts * 32}, 39, data});
}

TEST_F(GgufModels, EveryFamilyComesBack) {
  std::set<std::string> families;
  for (const auto& entry : fs::directory_iterator(folder_->path() + "/tiny-models")) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    try {
      const auto wanted = hf(name);
      const auto got = gguf(to_gguf(*wanted).bytes());
      expect_same(as_gguf_can_say(wanted->config()), got->config());
      expect_same(config_from_json(got->config_json()), got->config());
      expect_same_weights(*wanted, *got);
      families.insert(wanted->config().family);
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_GE(families.size(), 16u);
}

TEST_F(GgufModels, OldForms) {
  for (const char* name : {"mixtral_experts_fused", "deepseek_v3_mla_mtp"}) {
    SCOPED_TRACE(name);
    const auto wanted = hf(name);
    const auto got = gguf(to_gguf(*wanted, {.old_forms = true}).bytes());
    expect_same(as_gguf_can_say(wanted->config()), got->config());
    expect_same_weights(*wanted, *got);
  }
}

/// Real files of Gemma 3 say nothing of layers without a window, nor of the other base.
TEST_F(GgufModels, WindowsWithoutAPattern) {
  const auto wanted = hf("gemma3_text_local_global");
  ModelConfig config = wanted->config();
  for (std::size_t i = 0; i < config.kinds.size(); ++i)
    config.kinds[i].window = (i + 1) % 6 != 0 ? 6 : 0;
  expect_same(config, gguf(to_gguf(*wanted, {.usual_windows = true}).bytes())->config());
}

TEST_F(GgufModels, LongRopeComesBackFromItsFactors) {
  const auto wanted = hf("phi3_default_swa");
  const auto with = [&](float attn_factor) {
    GgufModel m = to_gguf(*wanted);
    const std::vector<float> longer = {1.08f, 2, 3, 4, 5, 6, 7, 8}, shorter(8, 1.5f);
    m.tensors.push_back({"rope_factors_long.weight", {8}, 0, test::raw_floats(longer)});
    m.tensors.push_back({"rope_factors_short.weight", {8}, 0, test::raw_floats(shorter)});
    m.keys.f32("phi3.rope.scaling.attn_factor", attn_factor);
    return gguf(m.bytes())->config().rope;
  };
  const Rope rope = with(1);  // 128 of 4096 positions: no stretch
  EXPECT_EQ(rope.type, "longrope");
  EXPECT_EQ(rope.original_positions, 4096);
  EXPECT_EQ(rope.long_factor, (std::vector<double>{1.08, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(rope.short_factor, std::vector<double>(8, 1.5));
  EXPECT_EQ(rope.attention_factor, std::nullopt);
  EXPECT_EQ(with(1.25f).attention_factor, 1.25);
}

/// Experts of gpt-oss stay MXFP4: nibbles of the folder are neighbours, those of GGUF halves apart.
TEST_F(GgufModels, Mxfp4Experts) {
  const auto wanted = hf("gpt_oss_mxfp4");
  const auto folder = open_safetensors(wanted->path());
  GgufModel model = to_gguf(*wanted);
  for (int layer = 0; layer < wanted->config().layers; ++layer)
    for (const char* name : {"gate", "up", "down"}) replace_by_mxfp4(model, *folder, layer, name);
  const auto got = gguf(model.bytes());
  expect_same_weights(*wanted, *got);
  EXPECT_EQ(got->find("model.layers.0.mlp.experts.1.up_proj.weight")->stored_as, "mxfp4");
}

/// Rows of blocks are permuted as rows of numbers are.
TEST_F(GgufModels, QuantizedQueries) {
  const auto wanted = hf("llama_gqa_untied");
  GgufModel model = to_gguf(*wanted);
  const std::string name = "blk.1.attn_q.weight";
  const auto t = std::ranges::find(model.tensors, name, &test::GgufTensor::name);
  const std::size_t blocks = t->data.size() / 4 / 32;
  std::string data;
  std::vector<float> values;
  for (std::size_t i = 0; i < blocks * 32; ++i) {
    if (i % 32 == 0) data += test::raw(f32_to_f16(0.5f));
    const auto code = static_cast<int8_t>(i * 37 % 251 - 125);
    data += test::raw(code);
    values.push_back(0.5f * static_cast<float>(code));
  }
  const std::string plain = test::raw_floats(values);
  model.replace({name, t->shape, 0, plain});
  const auto a = gguf(model.bytes());
  const WeightInfo* info = a->find("model.layers.1.self_attn.q_proj.weight");
  const auto expected = read(*a, *info);
  model.replace({name, t->shape, 8, data});
  const auto b = gguf(model.bytes());
  EXPECT_EQ(b->find(info->name)->stored_as, "q8_0");
  EXPECT_EQ(read(*b, *info), expected);
}

TEST_F(GgufModels, UnknownKeysAndTensorsAreRefusedByName) {
  const auto wanted = hf("qwen3_qknorm_headdim32");
  GgufModel key = to_gguf(*wanted);
  key.keys.f32("qwen3.attn_logit_softcapping", 30);
  expect_error(Fault::data, "qwen3.attn_logit_softcapping", [&] { gguf(key.bytes()); });
  GgufModel more = to_gguf(*wanted);
  more.tensors.push_back({"blk.0.attn_sinks.weight", {4}, 0, std::string(16, '\0')});
  expect_error(Fault::data, "blk.0.attn_sinks.weight", [&] { gguf(more.bytes()); });
  GgufModel less = to_gguf(*wanted);
  std::erase_if(less.tensors, [](const auto& t) { return t.name == "blk.1.ffn_up.weight"; });
  expect_error(Fault::data, "blk.1.ffn_up.weight", [&] { gguf(less.bytes()); });
}

}  // namespace
}  // namespace cupel::format
