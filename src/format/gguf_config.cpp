// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// One entry per family: what its GGUF files say, in the words of its config.json.
#include "format/gguf_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/architecture.h"
#include "format/gguf_keys.h"
#include "format/gguf_rope.h"

namespace cupel::format {
namespace {

using Json = nlohmann::ordered_json;

/// How a family's files tell layers with a window.
enum class Windows {
  none,
  optional,  ///< without the key no layer has one
  by_class,  ///< without the key the class's default
  required,
  flagged,  ///< as optional; config.json has a flag for it
};

struct Source {
  const GgufFile& file;
  GgufKeys& keys;
  Json& json;
  std::vector<std::string>& notes;
  int64_t layers = 0, hidden = 0, heads = 0, head_dim = 0;

  const TensorEntry* find(std::string_view pattern, int64_t layer) const {
    return file.find(fill_pattern(pattern, static_cast<int>(layer), -1));
  }
  bool sparse(int64_t layer) const { return find("blk.{}.ffn_gate_inp.weight", layer) != nullptr; }
};

// Experts.

/// Rows of a tensor in the first layer that has it: the inner width where the key is missing.
int64_t width_of(const Source& s, std::string_view pattern) {
  for (int64_t layer = 0; layer < s.layers; ++layer)
    if (const TensorEntry* t = s.find(pattern, layer); t && t->shape.size() >= 2)
      return t->shape[t->shape.size() - 2];
  fail(Fault::data, "the tensor '", fill_pattern(pattern, 0, -1), "' is missing");
}

/// How many there are, and how many a token visits.
void expert_counts(Source& s, const char* count_key) {
  const int64_t count = s.keys.integer("expert_count");
  const int64_t routed = width_of(s, "blk.{}.ffn_gate_inp.weight");
  CUPEL_CHECK(count == routed, data, "'expert_count' is ", count, ", but routers choose among ",
              routed);
  s.json[count_key] = count;
  s.json["num_experts_per_tok"] = s.keys.integer("expert_used_count");
}

void softmax_experts(Source& s) {
  expert_counts(s, "num_local_experts");
  const int64_t gating = s.keys.integer("expert_gating_func", 1);
  CUPEL_CHECK(gating == 1, data, "the key 'expert_gating_func' is ", gating,
              ", which this family does not have (only 1, softmax)");
}

int64_t expert_width(Source& s) {
  return s.keys.has("expert_feed_forward_length") ? s.keys.integer("expert_feed_forward_length")
                                                  : width_of(s, "blk.{}.ffn_up_exps.weight");
}

/// All feed-forward layers are experts of the config's intermediate_size.
void only_experts(Source& s) {
  softmax_experts(s);
  if (s.keys.has("expert_feed_forward_length"))
    s.json["intermediate_size"] = s.keys.integer("expert_feed_forward_length");
}

/// Beside dense layers, with a width of their own.
void qwen_experts(Source& s, bool renormalise) {
  softmax_experts(s);
  s.json["moe_intermediate_size"] = expert_width(s);
  s.json["norm_topk_prob"] = s.keys.flag("expert_weights_norm", renormalise);
  s.json["decoder_sparse_step"] = 1;
  Json dense = Json::array();
  for (int64_t layer = 0; layer < s.layers; ++layer)
    if (!s.sparse(layer)) dense.push_back(layer);
  s.json["mlp_only_layers"] = dense;
}

// Families.

void nothing(Source&) {}

void qwen2_moe(Source& s) {
  qwen_experts(s, false);
  s.json["shared_expert_intermediate_size"] =
      s.keys.has("expert_shared_feed_forward_length")
          ? s.keys.integer("expert_shared_feed_forward_length")
          : width_of(s, "blk.{}.ffn_up_shexp.weight");
  s.json["qkv_bias"] = s.find("blk.{}.attn_q.bias", 0) != nullptr;
}

void qwen3_moe(Source& s) {
  qwen_experts(s, true);
}

/// The scale of scores is not in the files of Gemma: it follows the head, but for the largest
/// models of two generations, where it follows hidden / heads. Other writers may give the key.
void gemma_scale(Source& s, int64_t layers_of_largest) {
  double scalar =
      static_cast<double>(s.layers == layers_of_largest ? s.hidden / s.heads : s.head_dim);
  if (s.keys.has("attention.scale")) {
    const double scale = s.keys.real("attention.scale");
    scalar = 1 / (scale * scale);
    if (std::abs(scalar / std::round(scalar) - 1) < 1e-5) scalar = std::round(scalar);
  }
  s.json["query_pre_attn_scalar"] = scalar;
}

void gemma_cap(Source& s, const char* key) {
  if (s.keys.has(key)) s.json[key] = s.keys.real(key);
}

void gemma2(Source& s) {
  gemma_scale(s, 46);
  gemma_cap(s, "attn_logit_softcapping");
  gemma_cap(s, "final_logit_softcapping");
}

void gemma3(Source& s) {
  gemma_scale(s, 62);
  gemma_cap(s, "final_logit_softcapping");
  s.json["rope_local_base_freq"] = s.keys.real("rope.freq_base_swa", 10000);
}

void olmoe(Source& s) {
  only_experts(s);
  s.json["norm_topk_prob"] = s.keys.flag("expert_weights_norm", false);
  if (s.keys.has("attention.clamp_kqv")) s.json["clip_qkv"] = s.keys.real("attention.clamp_kqv");
}

void granite(Source& s) {
  s.json["attention_multiplier"] = s.keys.real("attention.scale");
  s.json["embedding_multiplier"] = s.keys.real("embedding_scale");
  s.json["residual_multiplier"] = s.keys.real("residual_scale");
  s.json["logits_scaling"] = s.keys.real("logit_scale");
}

void granite_moe(Source& s) {
  granite(s);
  only_experts(s);
}

/// Keys of MLA: new files call the absorbed form key_length and give the true sizes as *_mla.
void deepseek_attention(Source& s) {
  Json& j = s.json;
  const bool absorbed = s.keys.has("attention.key_length_mla");
  const int64_t rope = s.keys.integer("rope.dimension_count");
  const int64_t rank = s.keys.integer("attention.kv_lora_rank");
  int64_t key = s.keys.integer("attention.key_length");
  int64_t value = s.keys.integer("attention.value_length");
  if (absorbed) {
    CUPEL_CHECK(key == rank + rope && value == rank, data, "'attention.key_length' is ", key,
                " and 'attention.value_length' ", value, ", ", rank + rope, " and ", rank,
                " expected");
    key = s.keys.integer("attention.key_length_mla");
    value = s.keys.integer("attention.value_length_mla");
  }
  CUPEL_CHECK(key > rope, data, "keys of ", key, " dimensions, ", rope,
              " of which turn: impossible");
  j["num_key_value_heads"] = s.heads;
  j["head_dim"] = rope;
  j["q_lora_rank"] = Json();
  if (const int64_t query = s.keys.count("attention.q_lora_rank")) j["q_lora_rank"] = query;
  j["kv_lora_rank"] = rank;
  j["qk_nope_head_dim"] = key - rope;
  j["qk_rope_head_dim"] = rope;
  j["v_head_dim"] = value;
}

void deepseek_experts(Source& s) {
  Json& j = s.json;
  expert_counts(s, "n_routed_experts");
  j["moe_intermediate_size"] = expert_width(s);
  j["n_shared_experts"] = s.keys.count("expert_shared_count");
  j["routed_scaling_factor"] = s.keys.real("expert_weights_scale", 1);
  const int64_t dense = s.keys.count("leading_dense_block_count");
  j["first_k_dense_replace"] = dense;
  for (int64_t layer = 0; layer < s.layers; ++layer)
    CUPEL_CHECK(s.sparse(layer) == (layer >= dense), data, "layer ", layer, " has ",
                s.sparse(layer) ? "" : "no ", "experts, but 'leading_dense_block_count' is ",
                dense);
  j["n_group"] = s.keys.integer("expert_group_count", 1);
  j["topk_group"] = s.keys.integer("expert_group_used_count", 1);
}

void deepseek_v2(Source& s) {
  deepseek_attention(s);
  deepseek_experts(s);
  CUPEL_CHECK(s.keys.integer("expert_gating_func", 1) == 1, data,
              "the key 'expert_gating_func' is not known (1 softmax, 2 sigmoid)");
  CUPEL_CHECK(!s.keys.flag("expert_weights_norm", false), data,
              "'expert_weights_norm' together with softmax is not supported");
  s.json["scoring_func"] = "softmax";
  s.json["topk_method"] = s.json["n_group"] == 1 ? "greedy" : "group_limited_greedy";
}

void deepseek_v3(Source& s) {
  deepseek_attention(s);
  deepseek_experts(s);
  s.keys.integer("expert_gating_func");
  s.json["norm_topk_prob"] = s.keys.flag("expert_weights_norm", false);
  s.json["scoring_func"] = "sigmoid";
  s.json["topk_method"] = "noaux_tc";
  if (!s.keys.has("expert_group_count"))
    s.notes.push_back(
        "the file does not say how experts are grouped (expert_group_count): not at "
        "all is assumed");
}

struct Family {
  const char* name;
  Windows windows;
  bool attention_bias, mlp_bias;  ///< config.json has the flag
  void (*more)(Source&);
};
constexpr Family kFamilies[] = {
    {"llama", Windows::none, true, true, nothing},
    {"mistral", Windows::optional, false, false, nothing},
    {"mixtral", Windows::optional, false, false, only_experts},
    {"qwen2", Windows::flagged, false, false, nothing},
    {"qwen2_moe", Windows::flagged, false, false, qwen2_moe},
    {"qwen3", Windows::flagged, true, false, nothing},
    {"qwen3_moe", Windows::flagged, true, false, qwen3_moe},
    {"gemma", Windows::none, true, false, nothing},
    {"gemma2", Windows::by_class, true, false, gemma2},
    {"gemma3_text", Windows::required, true, false, gemma3},
    {"phi3", Windows::optional, false, false, nothing},
    {"smollm3", Windows::none, true, true, nothing},
    {"olmo2", Windows::none, true, false, nothing},
    {"olmoe", Windows::none, true, false, olmoe},
    {"granite", Windows::none, true, true, granite},
    {"granitemoe", Windows::none, true, false, granite_moe},
    {"gpt_oss", Windows::required, true, false, only_experts},
    {"deepseek_v2", Windows::none, false, false, deepseek_v2},
    {"deepseek_v3", Windows::none, false, false, deepseek_v3},
};

const Family& family_named(std::string_view name) {
  for (const Family& f : kFamilies)
    if (name == f.name) return f;
  fail(Fault::internal, "family ", name, " has no GGUF configuration");
}

/// Some values of general.architecture stand for several families.
std::string_view family_of(GgufKeys& keys, const Architecture& arch) {
  const std::string_view name = arch.family;
  if (name == "llama" && keys.count("expert_count") > 0) return "mixtral";
  if (name == "llama" && keys.count("attention.sliding_window") > 0) return "mistral";
  if (name == "deepseek_v2" && keys.count("expert_gating_func") == 2) return "deepseek_v3";
  return name;
}

void sizes(Source& s) {
  Json& j = s.json;
  const TensorEntry* embedding = s.file.find("token_embd.weight");
  CUPEL_CHECK(embedding && embedding->shape.size() == 2, data,
              "the embedding ('token_embd.weight') is missing");
  const int64_t vocab = embedding->shape[0], claimed = s.keys.integer("vocab_size", vocab);
  if (claimed != vocab)
    s.notes.push_back(
        cat("vocab_size is ", claimed, ", the embedding has ", vocab, " rows: the latter is used"));
  const int64_t further = s.keys.count("nextn_predict_layers");
  s.layers = s.keys.integer("block_count") - further;
  const auto tensors = static_cast<int64_t>(s.file.tensors().size());
  CUPEL_CHECK(s.layers >= 1 && s.layers <= tensors, data, "impossible sizes: ", s.layers,
              " layers, but ", tensors, " tensors");
  s.hidden = s.keys.integer("embedding_length");
  s.heads = s.keys.integer("attention.head_count");
  j["vocab_size"] = vocab;
  j["hidden_size"] = s.hidden;
  j["num_hidden_layers"] = s.layers;
  j["num_attention_heads"] = s.heads;
  j["num_key_value_heads"] = s.keys.integer("attention.head_count_kv", s.heads);
  j["intermediate_size"] = s.keys.integer("feed_forward_length");
  j["max_position_embeddings"] = s.keys.integer("context_length", 2048);
  j["rms_norm_eps"] = s.keys.real("attention.layer_norm_rms_epsilon");
  j["tie_word_embeddings"] = s.file.find("output.weight") == nullptr;
}

/// Size of a head, and how much of it turns.
int64_t head(Source& s) {
  const bool divides = s.hidden % s.heads == 0;
  CUPEL_CHECK(divides || s.keys.has("attention.key_length"), data, "embedding_length ", s.hidden,
              " is not a multiple of ", s.heads, " heads, and attention.key_length is not given");
  s.head_dim = s.keys.integer("attention.key_length", s.hidden / s.heads);
  const int64_t value = s.keys.integer("attention.value_length", s.head_dim);
  CUPEL_CHECK(value == s.head_dim, data, "'attention.value_length' is ", value,
              ", which differs from the head size ", s.head_dim, ": not supported");
  s.json["head_dim"] = s.head_dim;
  const int64_t turning = s.keys.integer("rope.dimension_count", s.head_dim);
  CUPEL_CHECK(turning <= s.head_dim && turning % 2 == 0, data, "'rope.dimension_count' is ",
              turning, ", which does not fit the head size ", s.head_dim);
  if (turning < s.head_dim) {
    const auto size = static_cast<double>(s.head_dim);
    double share = static_cast<double>(turning) / size;
    if (size * share < static_cast<double>(turning)) share = std::nextafter(share, 1.0);
    s.json["partial_rotary_factor"] = share;
  }
  return turning;
}

void windows(Source& s, Windows how) {
  if (how == Windows::none) return;
  const char* key = "attention.sliding_window";
  CUPEL_CHECK(how != Windows::required || s.keys.has(key), data, "the key '", key, "' is missing");
  if (how == Windows::by_class && !s.keys.has(key)) return;
  const int64_t window = s.keys.count(key);
  s.json["sliding_window"] = window > 0 ? Json(window) : Json();
  if (how == Windows::flagged) s.json["use_sliding_window"] = window > 0;
  if (window == 0) return;
  const auto pattern = s.keys.layers("attention.sliding_window_pattern", s.layers);
  if (how == Windows::flagged && !pattern) s.json["max_window_layers"] = 0;
  if (!pattern) return;
  for (const bool slides : *pattern)
    s.json["layer_types"].push_back(slides ? "sliding_attention" : "full_attention");
}

}  // namespace

std::string gguf_config_json(const GgufFile& file, std::vector<std::string>& notes) {
  const auto name = file.text("general.architecture");
  CUPEL_CHECK(name, data, "the key 'general.architecture' is missing");
  GgufKeys keys(file, *name);
  const Architecture& arch = architecture_of_family(family_of(keys, architecture_of_gguf(*name)));
  const Family& family = family_named(arch.family);
  Json json = {{"architectures", {arch.class_name}}, {"model_type", arch.family}};
  for (const char* role : {"bos", "eos"})
    if (const auto id = file.integer(cat("tokenizer.ggml.", role, "_token_id")))
      json[cat(role, "_token_id")] = *id;
  Source s{file, keys, json, notes};
  sizes(s);
  const bool low_rank = keys.has("attention.kv_lora_rank");
  const int64_t turning = low_rank ? keys.integer("rope.dimension_count") : head(s);
  gguf_rope(keys,
            {.dims = turning,
             .max_positions = json["max_position_embeddings"].get<int64_t>(),
             .truncate = json["model_type"] != "gpt_oss"},
            json);
  if (family.attention_bias) json["attention_bias"] = s.find("blk.{}.attn_q.bias", 0) != nullptr;
  if (family.mlp_bias) json["mlp_bias"] = s.find("blk.{}.ffn_up.bias", 0) != nullptr;
  windows(s, family.windows);
  family.more(s);
  keys.check_rest();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cupel::format
