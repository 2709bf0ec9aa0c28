// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "export/safetensors_writer.h"
#include "files_util.h"

namespace cupel::format {
namespace {

using Json = nlohmann::json;
using export_::OutputTensor;
using export_::write_hf_folder;
using test::expect_error;

Json small_config() {
  return Json{{"model_type", "llama"},    {"hidden_size", 8},
              {"num_hidden_layers", 1},   {"num_attention_heads", 2},
              {"num_key_value_heads", 1}, {"vocab_size", 5},
              {"intermediate_size", 6},   {"tie_word_embeddings", false}};
}

std::size_t count_of(const std::vector<int64_t>& shape) {
  std::size_t n = 1;
  for (const int64_t s : shape) n *= static_cast<std::size_t>(s);
  return n;
}

/// Values that differ by weight and position and are exact in bf16.
float value_at(const std::string& name, std::size_t i) {
  return static_cast<float>((name.size() * 7 + i * 3) % 127) - 64;
}

std::vector<OutputTensor> small_weights(ElementType type = ElementType::f32) {
  const ModelConfig c = config_from_json(small_config().dump());
  std::vector<OutputTensor> out;
  for (const WeightId id : weight_ids(c)) {
    const std::string name = canonical_name(c.architecture(), id);
    out.push_back({name, c.shape_of(id.role), type, [name](std::span<float> v) {
                     for (std::size_t i = 0; i < v.size(); ++i) v[i] = value_at(name, i);
                   }});
  }
  return out;
}

std::vector<float> read(const Checkpoint& c, const std::string& name) {
  const WeightInfo* w = c.find(name);
  EXPECT_NE(w, nullptr) << name;
  std::vector<float> out(w ? count_of(w->shape) : 0);
  if (w) c.read(name, out);
  return out;
}

constexpr const char* kEmbedding = "model.embed_tokens.weight";
constexpr const char* kHead = "lm_head.weight";
constexpr const char* kQuery = "model.layers.0.self_attn.q_proj.weight";

class CheckpointTest : public ::testing::Test {
 protected:
  std::unique_ptr<Checkpoint> open(const std::vector<OutputTensor>& weights, const Json& config,
                                   int64_t shard_bytes = 1 << 20) {
    write_hf_folder(folder_.path(), weights, config.dump(), "", shard_bytes);
    return Checkpoint::open(folder_.path());
  }
  test::TempFolder folder_;
};

OutputTensor& at(std::vector<OutputTensor>& weights, std::string_view name) {
  for (OutputTensor& w : weights)
    if (w.name == name) return w;
  throw std::out_of_range(std::string(name));
}

TEST_F(CheckpointTest, RoundTripsThroughAFolder) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    const auto weights = small_weights(type);
    const auto c = open(weights, small_config());
    EXPECT_EQ(c->weights().size(), weights.size());
    EXPECT_EQ(c->find(kQuery)->stored_as, traits(type).name);
    for (const OutputTensor& w : weights) {
      const auto got = read(*c, w.name);
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], value_at(w.name, i)) << w.name;
    }
  }
}

TEST_F(CheckpointTest, ShardsAndStaleFiles) {
  const auto whole = open(small_weights(), small_config());
  const std::string before = whole->fingerprint();
  const auto c = open(small_weights(), small_config(), 600);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("model.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("model.safetensors.index.json")));
  EXPECT_EQ(c->fingerprint(), before);
  EXPECT_TRUE(c->notes().empty());
  open(small_weights(), small_config());
  EXPECT_FALSE(std::filesystem::exists(folder_.file("model.safetensors.index.json")));
}

TEST_F(CheckpointTest, FingerprintSeesOneValue) {
  const std::string before = open(small_weights(), small_config())->fingerprint();
  auto weights = small_weights();
  const auto fill = at(weights, kQuery).fill;
  at(weights, kQuery).fill = [fill](std::span<float> v) {
    fill(v);
    v[3] += 1;
  };
  EXPECT_NE(open(weights, small_config())->fingerprint(), before);
}

TEST_F(CheckpointTest, TensorsThatDoNotFit) {
  auto unknown = small_weights();
  unknown.push_back(
      {"model.layers.0.self_attn.q_proj.bias", {8}, ElementType::f32, [](std::span<float> v) {
         std::fill(v.begin(), v.end(), 0.0f);
         v.back() = 1e-30f;
       }});
  expect_error(Fault::data, "q_proj.bias", [&] { open(unknown, small_config()); });
  auto deep = small_weights();
  at(deep, kQuery).name = "model.layers.1.self_attn.q_proj.weight";
  expect_error(Fault::data, "layers.1", [&] { open(deep, small_config()); });
  auto missing = small_weights();
  missing.erase(missing.begin() + 3);
  expect_error(Fault::data, "missing", [&] { open(missing, small_config()); });
  auto shape = small_weights();
  at(shape, kQuery).shape = {4, 16};
  expect_error(Fault::data, "[8, 8] expected", [&] { open(shape, small_config()); });
  auto extra = small_weights();
  extra.push_back(
      {"model.layers.0.self_attn.rotary_emb.inv_freq", {2}, ElementType::f32, [](std::span<float>) {
       }});
  EXPECT_EQ(open(extra, small_config())->notes().size(), 1u);
}

TEST_F(CheckpointTest, BiasesOfZeroHaveNoEffect) {
  const auto zeros = [](std::span<float> v) { std::fill(v.begin(), v.end(), 0.0f); };
  auto weights = small_weights();
  for (const char* module : {"self_attn.q_proj", "self_attn.o_proj", "mlp.down_proj"})
    weights.push_back({cat("model.layers.0.", module, ".bias"), {8}, ElementType::f16, zeros});
  const auto c = open(weights, small_config());
  EXPECT_EQ(c->weights().size(), small_weights().size());
  ASSERT_EQ(c->notes().size(), 1u);
  EXPECT_TRUE(c->notes()[0].starts_with("3 biases")) << c->notes()[0];
  weights.push_back({"model.layers.0.input_layernorm.bias", {8}, ElementType::f32, zeros});
  expect_error(Fault::data, "input_layernorm.bias", [&] { open(weights, small_config()); });
}

TEST_F(CheckpointTest, PrefixOfABaseModel) {
  auto weights = small_weights();
  for (OutputTensor& w : weights)
    if (w.name.starts_with("model.")) w.name = w.name.substr(6);
  EXPECT_EQ(read(*open(weights, small_config()), kQuery).size(), 64u);
}

TEST_F(CheckpointTest, NotFiniteValuesAreNamed) {
  auto weights = small_weights();
  at(weights, kQuery).fill = [](std::span<float> v) {
    v[17] = std::numeric_limits<float>::quiet_NaN();
  };
  const auto c = open(weights, small_config());
  expect_error(Fault::data, "position 17", [&] { read(*c, kQuery); });
}

TEST_F(CheckpointTest, TiedHeads) {
  Json tied = small_config();
  tied["tie_word_embeddings"] = true;
  const auto without = [](std::string_view name) {
    auto weights = small_weights();
    std::erase_if(weights, [&](const OutputTensor& w) { return w.name == name; });
    return weights;
  };
  EXPECT_EQ(open(without(kHead), tied)->find(kHead), nullptr);
  expect_error(Fault::data, "lm_head", [&] { open(without(kHead), small_config()); });

  const auto differing = open(small_weights(), tied);
  EXPECT_FALSE(differing->config().tied_head);
  EXPECT_EQ(Json::parse(differing->config_json())["tie_word_embeddings"], false);
  EXPECT_EQ(differing->notes().size(), 1u);

  auto equal = small_weights();
  at(equal, kHead).fill = at(equal, kEmbedding).fill;
  const auto same = open(equal, tied);
  EXPECT_TRUE(same->config().tied_head);
  EXPECT_EQ(same->find(kHead), nullptr);

  const auto head_only = open(without(kEmbedding), tied);
  EXPECT_EQ(read(*head_only, kEmbedding)[1], value_at(kHead, 1));
  expect_error(Fault::data, "embed_tokens", [&] { open(without(kEmbedding), small_config()); });
}

TEST_F(CheckpointTest, GgufRowsAreBroughtBackToHalves) {
  test::GgufBuilder b;
  b.text("general.architecture", "llama").u32("llama.block_count", 1);
  b.u32("llama.embedding_length", 8).u32("llama.feed_forward_length", 6);
  b.u32("llama.attention.head_count", 2).u32("llama.attention.head_count_kv", 1);
  b.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f).u32("llama.rope.dimension_count", 4);
  const ModelConfig config = config_from_json(small_config().dump());
  const Architecture& arch = config.architecture();
  for (const WeightId id : weight_ids(config)) {
    const auto shape = config.shape_of(id.role);
    const std::string name = canonical_name(arch, id);
    const auto cols = static_cast<std::size_t>(shape.back());
    std::vector<float> values(count_of(shape));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::size_t row = i / cols;
      if (id.role == Role::query || id.role == Role::key)
        row = row / 4 * 4 + row % 2 * 2 + row % 4 / 2;  // pair p, part h of a head: row h * 2 + p
      values[i] = value_at(name, row * cols + i % cols);
    }
    b.tensor(gguf_name(arch, id), std::vector<uint64_t>(shape.rbegin(), shape.rend()), 0,
             test::raw_floats(values));
  }
  const auto c = Checkpoint::open(folder_.write("m.gguf", b.bytes()));
  EXPECT_EQ(c->config().norm_eps, 1e-5);
  EXPECT_EQ(config_from_json(c->config_json()).kv_heads, 1);
  for (const WeightInfo& w : c->weights()) {
    const auto got = read(*c, w.name);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], value_at(w.name, i)) << w.name;
  }
  const auto bad = folder_.write("bad.gguf", b.f32("llama.logit_scale", 2).bytes());
  expect_error(Fault::data, "logit_scale", [&] { Checkpoint::open(bad); });
}

TEST_F(CheckpointTest, Llama3ScalingComesBackFromDivisors) {
  Rope rope;
  rope.theta = 500000;
  const auto plain = rope_frequencies(rope, 64);
  rope = {.type = "llama3", .theta = 500000, .factor = 32, .original_positions = 8192};
  const auto scaled = rope_frequencies(rope, 64);
  std::vector<float> divisors(32);
  for (std::size_t i = 0; i < 32; ++i) divisors[i] = static_cast<float>(plain[i] / scaled[i]);
  const auto with = [&](const std::vector<float>& values) {
    test::GgufBuilder b;
    b.text("general.architecture", "llama").u32("llama.block_count", 1);
    b.u32("llama.embedding_length", 64).u32("llama.feed_forward_length", 4);
    b.u32("llama.attention.head_count", 1).f32("llama.rope.freq_base", 500000);
    b.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    ModelConfig c;
    c.hidden = c.head_dim = 64;
    c.vocab = c.intermediate = 4;
    c.heads = c.kv_heads = c.layers = 1;
    const Architecture& arch = architecture_of_family("llama");
    for (const WeightId id : weight_ids(c)) {
      const auto shape = c.shape_of(id.role);
      b.tensor(gguf_name(arch, id), std::vector<uint64_t>(shape.rbegin(), shape.rend()), 0,
               std::string(count_of(shape) * 4, '\0'));
    }
    b.tensor("rope_freqs.weight", {32}, 0, test::raw_floats(values));
    return Checkpoint::open(folder_.write("m.gguf", b.bytes()))->config();
  };
  const Rope found = with(divisors).rope;
  EXPECT_EQ(found.type, "llama3");
  EXPECT_EQ(found.factor, 32);
  EXPECT_EQ(found.original_positions, 8192);
  EXPECT_EQ(with(std::vector<float>(32, 1)).rope.type, "default");
  divisors[20] *= 1.01f;
  expect_error(Fault::data, "Llama 3's rule", [&] { with(divisors); });
}

TEST_F(CheckpointTest, NoModelThere) {
  expect_error(Fault::user, "no model", [&] { Checkpoint::open(folder_.file("none")); });
  expect_error(Fault::user, "config.json is missing", [&] { Checkpoint::open(folder_.path()); });
  const auto text = folder_.write("notes.txt", "hello");
  expect_error(Fault::user, "no model", [&] { Checkpoint::open(text); });
}

constexpr const char* kTokenizer = R"({"version":"1.0",
  "added_tokens":[{"id":3,"content":"<s>","special":true},
                  {"id":4,"content":"<|im_end|>","special":true}],
  "post_processor":null, "model":{"type":"BPE","vocab":{"a":0,"\"}{":1,"b":2},"merges":[]}})";

TEST_F(CheckpointTest, TokenizerFilesAreMerged) {
  folder_.write("tokenizer.json", kTokenizer);
  folder_.write("tokenizer_config.json", R"({"bos_token":{"content":"<s>"},"eos_token":"b",
    "add_bos_token":true,"chat_template":[{"name":"default","template":"T"}],
    "model_max_length":1000000000000000019884624838656})");
  folder_.write("generation_config.json", R"({"eos_token_id":[1,2]})");
  const auto json = Json::parse(tokenizer_json_of(folder_.path()));
  EXPECT_EQ(json["cupel"]["bos"], 3);
  EXPECT_EQ(json["cupel"]["end_tokens"], Json({1, 2, 4}));
  EXPECT_EQ(json["cupel"]["add_bos"], true);
  EXPECT_EQ(json["cupel"]["chat_template"], "T");
  EXPECT_EQ(json["post_processor"]["single"][0]["SpecialToken"]["id"], "<s>");
  EXPECT_EQ(json["model"], Json::parse(kTokenizer)["model"]);
  folder_.write("chat_template.jinja", "J");
  EXPECT_EQ(Json::parse(tokenizer_json_of(folder_.path()))["cupel"]["chat_template"], "J");

  const auto bare = Json::parse(tokenizer_json_of(folder_.file("tokenizer.json")));
  EXPECT_EQ(bare["cupel"]["bos"], nullptr);
  EXPECT_EQ(bare["cupel"]["end_tokens"], Json({4}));

  folder_.write("tokenizer.json", "{");
  expect_error(Fault::data, "tokenizer.json", [&] { tokenizer_json_of(folder_.path()); });
}

TEST_F(CheckpointTest, TokenizerSurvivesAnExport) {
  folder_.write("tokenizer.json", kTokenizer);
  folder_.write("tokenizer_config.json",
                R"({"bos_token":"<s>","eos_token":"b","chat_template":"T"})");
  const std::string before = tokenizer_json_of(folder_.path());
  const test::TempFolder other;
  write_hf_folder(other.path(), small_weights(), small_config().dump(), before);
  const auto c = Checkpoint::open(other.path());
  EXPECT_EQ(Json::parse(c->tokenizer_json()), Json::parse(before));
  EXPECT_FALSE(Json::parse(read_text(other.file("tokenizer.json"))).contains("cupel"));
}

TEST(CheckpointFixture, TinyModels) {
  const std::string archive = test::shared_path("fixtures/tiny-models.tar.xz");
  if (archive.empty()) GTEST_SKIP() << "fixtures/tiny-models.tar.xz is missing";
  const test::TempFolder folder;
  const std::string command = "tar xf '" + archive + "' -C '" + folder.path() + "'";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "tar or xz is missing";
  int opened = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (entry.path().filename() != "config.json") continue;
    const std::string model = entry.path().parent_path().string();
    const auto container = open_container(model);
    EXPECT_FALSE(container->tensors().empty());
    try {
      const auto c = Checkpoint::open(model);
      for (const WeightInfo& w : c->weights()) EXPECT_FALSE(read(*c, w.name).empty());
      ++opened;
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::data) << model << ": " << e.what();
    }
  }
  EXPECT_GE(opened, 2);
}

}  // namespace
}  // namespace cupel::format
