// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Every feature that a configuration can ask for, by family: against the double-precision decoder,
// and the bits that nothing may change.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "base/error.h"
#include "reference_decoder.h"

namespace cupel::runtime {
namespace {

using kernels::Isa;

struct Family {
  const char* name;
  const char* model_type;
  const char* keys;        ///< of config.json, besides those of config()
  bool by_length = false;  ///< angles depend on the length of the sequence
};

constexpr const char* kLowRank =
    R"("kv_lora_rank": 20, "qk_nope_head_dim": 12, "qk_rope_head_dim": 10, "v_head_dim": 14,
       "num_key_value_heads": 6, "head_dim": 10, "n_routed_experts": 8, "num_experts_per_tok": 3,
       "moe_intermediate_size": 28, "n_shared_experts": 2, "routed_scaling_factor": 2.5,
       "n_group": 4, "topk_group": 2, "first_k_dense_replace": 1)";

const std::vector<Family>& families() {
  static const std::string v3 = cat(kLowRank, R"(, "q_lora_rank": 20, "rope_parameters":
       {"rope_type": "yarn", "rope_theta": 10000, "factor": 4, "mscale": 1, "mscale_all_dim": 0.7,
        "original_max_position_embeddings": 32})");
  static const std::string v2 = cat(kLowRank, R"(, "q_lora_rank": null,
       "topk_method": "group_limited_greedy")");
  static const std::vector<Family> all = {
      {"llama_biases_gelu", "llama",
       R"("attention_bias": true, "mlp_bias": true, "hidden_act": "gelu")"},
      {"llama_dynamic", "llama", R"("max_position_embeddings": 16, "rope_scaling":
       {"rope_type": "dynamic", "factor": 4})",
       true},
      {"mistral", "mistral", R"("sliding_window": 7, "head_dim": 12)"},
      {"mixtral", "mixtral", R"("num_local_experts": 6, "num_experts_per_tok": 2)"},
      {"qwen2", "qwen2", R"("use_sliding_window": true, "sliding_window": 5,
       "max_window_layers": 1, "rope_scaling": {"rope_type": "yarn", "factor": 4,
       "original_max_position_embeddings": 32})"},
      {"qwen2_moe", "qwen2_moe", R"("num_experts": 6, "num_experts_per_tok": 2,
       "moe_intermediate_size": 20, "shared_expert_intermediate_size": 36,
       "decoder_sparse_step": 2)"},
      {"qwen3", "qwen3", R"("head_dim": 22)"},
      {"qwen3_moe", "qwen3_moe", R"("num_experts": 9, "num_experts_per_tok": 4,
       "moe_intermediate_size": 20, "norm_topk_prob": true, "head_dim": 8,
       "mlp_only_layers": [0])"},
      {"gemma", "gemma", R"("num_key_value_heads": 1, "head_dim": 20)"},
      {"gemma2", "gemma2", R"("sliding_window": 6, "head_dim": 20, "query_pre_attn_scalar": 33,
       "attn_logit_softcapping": 3.0, "final_logit_softcapping": 4.0)"},
      {"gemma3", "gemma3_text", R"("sliding_window": 6, "head_dim": 20,
       "sliding_window_pattern": 3, "query_pre_attn_scalar": 33, "rope_theta": 1000000,
       "rope_local_base_freq": 10000, "rope_scaling": {"rope_type": "linear", "factor": 8})"},
      {"phi3_longrope", "phi3", R"("partial_rotary_factor": 0.5, "head_dim": 12,
       "original_max_position_embeddings": 20, "max_position_embeddings": 80, "rope_scaling":
       {"type": "longrope", "short_factor": [1, 1.2, 1.5], "long_factor": [1, 2.5, 6]})",
       true},
      {"smollm3", "smollm3", R"("no_rope_layer_interval": 2)"},
      {"olmo2", "olmo2", R"("head_dim": 8)"},
      {"olmoe", "olmoe", R"("num_experts": 7, "num_experts_per_tok": 3, "clip_qkv": 0.8)"},
      {"granite", "granite", R"("embedding_multiplier": 3, "residual_multiplier": 0.4,
       "logits_scaling": 2.5, "attention_multiplier": 0.2)"},
      {"granitemoe", "granitemoe", R"("num_local_experts": 6, "num_experts_per_tok": 3,
       "embedding_multiplier": 3, "residual_multiplier": 0.4, "logits_scaling": 2.5,
       "attention_multiplier": 0.2)"},
      {"gpt_oss", "gpt_oss", R"("num_local_experts": 5, "num_experts_per_tok": 2,
       "sliding_window": 9, "head_dim": 12, "swiglu_limit": 0.9, "rope_scaling":
       {"rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 16,
        "truncate": false})"},
      {"deepseek_v2", "deepseek_v2", v2.c_str()},
      {"deepseek_v3", "deepseek_v3", v3.c_str()},
  };
  return all;
}

format::ModelConfig config(const Family& family) {
  // A later key of the same name would be refused, so that defaults are left out where given.
  std::string json = cat(R"({"model_type": ")", family.model_type, R"(", )", family.keys);
  for (const auto& [key, value] : {std::pair{"vocab_size", "101"},
                                   {"hidden_size", "48"},
                                   {"num_hidden_layers", "3"},
                                   {"num_attention_heads", "6"},
                                   {"num_key_value_heads", "2"},
                                   {"intermediate_size", "52"},
                                   {"max_position_embeddings", "128"},
                                   {"tie_word_embeddings", "false"}})
    if (json.find(cat("\"", key, "\"")) == std::string::npos)
      json += cat(", \"", key, "\": ", value);
  return format::config_from_json(json + "}");
}

SessionOptions exact_cache(int threads = 1, int64_t chunk = 256) {
  return {.threads = threads, .context = 0, .kv = KvType::f32, .prompt_chunk = chunk};
}

class EachFamily : public ::testing::TestWithParam<Family> {
 protected:
  std::vector<float> run(const std::string& path, const LoadOptions& load,
                         const SessionOptions& options) const {
    Session session(Model::open(path, load), options);
    return logits_of(session, ids_);
  }
  const TinyModel model_ = make_tiny(21, config(GetParam()));
  const std::vector<text::Token> ids_ = random_ids(21, 40, 101);
};

TEST_P(EachFamily, MatchesTheReference) {
  const std::string path = write_folder(model_, cat("family_", GetParam().name));
  const auto reference = reference_logits(model_, ids_);
  for (const Isa isa : levels())
    EXPECT_LT(largest_difference(run(path, {.isa = isa}, exact_cache()), reference), 1e-4)
        << kernels::isa_name(isa);
}

TEST_P(EachFamily, ThreadsChunksAndLevelsChangeNothing) {
  const std::string path =
      write_packed(model_, {.layout = "uniform", .bits = 5, .group = 32, .hadamard = 2},
                   cat("family_", GetParam().name, ".cupel"));
  const auto first = run(path, {.isa = Isa::scalar}, {.threads = 1});
  for (const Isa isa : levels())
    for (const int threads : {1, 3})
      for (const int64_t chunk : {1, 7, 256})
        EXPECT_EQ(run(path, {.isa = isa}, {.threads = threads, .prompt_chunk = chunk}), first)
            << kernels::isa_name(isa) << ", " << threads << " threads, chunks of " << chunk;
}

TEST_P(EachFamily, PackedCachesHaveTheSameBitsAtEveryLevel) {
  const std::string path = write_folder(model_, cat("family_kv_", GetParam().name));
  for (const KvType kv : {KvType::int8, KvType::fp8, KvType::int4}) {
    const auto first = run(path, {.isa = Isa::scalar}, {.threads = 1, .kv = kv});
    for (const Isa isa : levels())
      EXPECT_EQ(run(path, {.isa = isa}, {.threads = 3, .kv = kv, .prompt_chunk = 7}), first)
          << kernels::isa_name(isa) << ' ' << kernels::kv_type_name(kv);
  }
}

TEST_P(EachFamily, PackedMatchesWhatItStores) {
  TinyModel stored;
  const std::string path =
      write_packed(model_, {.layout = "uniform", .bits = 8, .group = 32, .hadamard = 4},
                   cat("family_stored_", GetParam().name, ".cupel"), &stored);
  EXPECT_LT(largest_difference(run(path, {}, exact_cache()), reference_logits(stored, ids_)), 2e-2);
}

/// Scales and rotations lie beside the matrix, not in a norm: exact whatever the norm multiplies
/// by, whoever else reads it.
TEST_P(EachFamily, TransformsLoseNothing) {
  const std::string path =
      write_packed(model_, {.hadamard = 4}, cat("family_transformed_", GetParam().name, ".cupel"));
  EXPECT_LT(largest_difference(run(path, {}, exact_cache()), reference_logits(model_, ids_)), 2e-4);
}

TEST_P(EachFamily, CallsOfAnySizeGiveTheSameBits) {
  if (GetParam().by_length) GTEST_SKIP() << "the length of each call matters here";
  const std::string path = write_folder(model_, cat("family_calls_", GetParam().name));
  const auto all = run(path, {}, exact_cache());
  Session session(Model::open(path, {}), exact_cache());
  for (const std::size_t size : {1u, 7u}) {
    session.rewind(0);
    std::vector<float> pieces;
    for (std::size_t at = 0; at < ids_.size(); at += size) {
      const auto piece = std::span(ids_).subspan(at, std::min(size, ids_.size() - at));
      const auto logits = session.forward(piece, static_cast<int64_t>(piece.size()));
      pieces.insert(pieces.end(), logits.begin(), logits.end());
    }
    EXPECT_EQ(pieces, all) << "calls of " << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EachFamily, ::testing::ValuesIn(families()),
                         [](const auto& family) { return std::string(family.param.name); });

Family named(const std::string& name);

TEST(CacheOfAFamily, CountsWindowsAndExpandedHeads) {
  const auto read = [](const char* name, int64_t positions) {
    Session session(Model::open(write_folder(make_tiny(24, config(named(name))), "cache"), {}),
                    exact_cache());
    session.forward(random_ids(24, positions, 101), 0);
    return session.kv_bytes_read();
  };
  // 3 layers, 2 heads of 12 + 12 numbers; a window of 7.
  EXPECT_EQ(read("mistral", 5), 3 * 5 * 2 * 24 * 4);
  EXPECT_EQ(read("mistral", 40), 3 * 7 * 2 * 24 * 4);
  // 6 heads, keys of 12 + 10 numbers, values of 14.
  EXPECT_EQ(read("deepseek_v3", 40), 3 * 40 * 6 * 36 * 4);
}

TEST(ExpertsOfAFamily, OnlyThoseVisitedCountAsRead) {
  const TinyModel tiny = make_tiny(25, config(named("mixtral")));
  const auto model = Model::open(write_folder(tiny, "visited"), {});
  int64_t elements = tiny.config.hidden;
  for (const auto id : format::weight_ids(tiny.config)) {
    const auto count = static_cast<int64_t>(tiny.at(id).size());
    if (id.role != format::Role::embedding) elements += id.expert < 0 ? count : 0;
    if (id.expert == 0) elements += tiny.config.experts.active * count;
  }
  EXPECT_EQ(model->streamed_bytes(), 4 * elements);
}

TEST(ExpertsOfAFamily, ADamagedRouterIsNamed) {
  TinyModel tiny = make_tiny(26, config(named("mixtral")));
  for (float& v : tiny.at(format::Role::router, 1)) v = 3e38F;
  Session session(Model::open(write_folder(tiny, "router"), {}), exact_cache());
  try {
    session.forward(random_ids(26, 5, 101), 0);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::data);
    EXPECT_NE(std::string(e.what()).find("model.layers.1: the router"), std::string::npos)
        << e.what();
  }
}

Family named(const std::string& name) {
  for (const Family& family : families())
    if (name == family.name) return family;
  throw std::out_of_range(name);
}

/// Logits of the last token after calls of these sizes.
std::vector<float> last_after(Session& session, const std::vector<text::Token>& ids,
                              const std::vector<std::size_t>& sizes) {
  std::vector<float> last;
  std::size_t at = 0;
  for (const std::size_t size : sizes) {
    const auto logits = session.forward(std::span(ids).subspan(at, size), 1);
    last.assign(logits.begin(), logits.end());
    at += size;
  }
  return last;
}

TEST(LongRope, TheCacheIsComputedAgainAtTheBorder) {
  const TinyModel tiny = make_tiny(22, config(named("phi3_longrope")));
  const auto model = Model::open(write_folder(tiny, "longrope"), {});
  const auto ids = random_ids(22, 40, 101);
  Session fresh(model, exact_cache(1, 16)), session(model, exact_cache());
  for (const std::size_t length : {19u, 20u, 21u, 33u}) {
    fresh.rewind(0);
    session.rewind(0);
    const auto want = last_after(fresh, ids, {length});
    EXPECT_EQ(last_after(session, ids, {10, length - 11, 1}), want) << length;
    // Back below the border, and over it again.
    session.rewind(12);
    const auto again = session.forward(std::span(ids).subspan(12, length - 12), 1);
    EXPECT_EQ(std::vector<float>(again.begin(), again.end()), want) << length;
  }
}

TEST(DynamicRope, KeysKeepTheirAnglesUntilTheSequenceIsCut) {
  const TinyModel tiny = make_tiny(23, config(named("llama_dynamic")));
  const auto model = Model::open(write_folder(tiny, "dynamic"), {});
  const auto ids = random_ids(23, 40, 101);
  Session fresh(model, exact_cache()), session(model, exact_cache());
  // Within the original context nothing changes with the length.
  EXPECT_EQ(last_after(session, ids, {5, 11}), last_after(fresh, ids, {16}));
  // Beyond it, decoding is not what a fresh evaluation gives.
  fresh.rewind(0);
  session.rewind(0);
  const auto whole = last_after(fresh, ids, {40});
  EXPECT_NE(last_after(session, ids, {30, 10}), whole);
  // After a cut everything depends on the tokens alone again.
  session.rewind(12);
  const auto again = session.forward(std::span(ids).subspan(12), 1);
  EXPECT_EQ(std::vector<float>(again.begin(), again.end()), whole);
  session.rewind(30);
  EXPECT_EQ(session.keep_prefix(ids, 39), 0);
  EXPECT_GT(session.max_length(), tiny.config.max_positions);
}

}  // namespace
}  // namespace cupel::runtime
