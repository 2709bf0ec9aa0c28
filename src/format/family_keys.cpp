// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/family_keys.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cupel::format {

using Keys = ConfigKeys;

namespace {

bool every(int64_t) {
  return true;
}
bool none(int64_t) {
  return false;
}
bool even(int64_t layer) {
  return layer % 2 == 0;
}

void biases(Keys& k, ModelConfig& c, bool otherwise) {
  k.flag("attention_bias", c.qkv_bias, otherwise);
  if (!k.writing()) c.output_bias = c.qkv_bias;
}

}  // namespace

void llama_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.norm_eps = 1e-6});
  activation_key(k, c, "hidden_act", Activation::silu);
  biases(k, c, false);
  k.flag("mlp_bias", c.mlp_bias, false);
  k.only("rope_interleaved", false);
  k.only("sliding_window", nullptr);
  window_keys(k, c, 0, none);
}

void mistral_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.kv_heads = 8});
  activation_key(k, c, "hidden_act", Activation::silu);
  window_keys(k, c, 4096, every);
}

namespace {

void mixture(ModelConfig& c, const Keys& k) {
  if (!k.writing()) c.experts.width = c.intermediate;
}

}  // namespace

void mixtral_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.kv_heads = 8, .norm_eps = 1e-5, .theta = 1e6});
  activation_key(k, c, "hidden_act", Activation::silu);
  window_keys(k, c, 0, every);
  k.integer("num_local_experts", c.experts.count, 8);
  k.integer("num_experts_per_tok", c.experts.active, 2);
  k.harmless({"router_aux_loss_coef", "router_jitter_noise", "output_router_logits"});
  mixture(c, k);
  c.experts.renormalise = true;
  if (!k.writing()) set_sparse(c, every);
}

namespace {

/// Windows from layer max_window_layers on, if the flag is set.
void qwen_window_keys(Keys& k, ModelConfig& c, int64_t default_window) {
  bool on = false;
  for (const LayerKind& kind : c.kinds) on = on || kind.window > 0;
  k.flag("use_sliding_window", on, false);
  int64_t from = 28;
  if (const auto* stored = k.get("max_window_layers"); stored && stored->is_number_integer())
    from = stored->get<int64_t>();
  const auto slides = [&](int64_t layer) { return on && layer >= from; };
  window_keys(k, c, default_window, slides);
  if (!k.writing() && !on)
    for (LayerKind& kind : c.kinds) kind.window = 0;
}

}  // namespace

void qwen2_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.kv_heads = 32});
  activation_key(k, c, "hidden_act", Activation::silu);
  qwen_window_keys(k, c, 4096);
  c.qkv_bias = true;
}

void qwen3_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.kv_heads = 32, .head_dim = 128});
  activation_key(k, c, "hidden_act", Activation::silu);
  biases(k, c, false);
  qwen_window_keys(k, c, 4096);
  c.query_key_norm = QueryKeyNorm::per_head;
}

namespace {

/// Layers with experts: each `decoder_sparse_step`-th that is not listed in mlp_only_layers.
void qwen_sparse_keys(Keys& k, ModelConfig& c) {
  int64_t step = 1;
  k.integer("decoder_sparse_step", step, 1);
  std::vector<bool> dense(static_cast<std::size_t>(c.layers), false);
  const auto* list = k.get("mlp_only_layers");
  if (list) {
    CUPEL_CHECK(list->is_array(), data, "config.json: 'mlp_only_layers' is not a list");
    for (const auto& entry : *list) {
      CUPEL_CHECK(entry.is_number_integer() && entry >= 0, data,
                  "config.json: an entry of 'mlp_only_layers' is not a layer");
      if (entry < c.layers) dense[entry.get<std::size_t>()] = true;
    }
  }
  const auto sparse = [&](int64_t layer) {
    return (layer + 1) % step == 0 && !dense[static_cast<std::size_t>(layer)];
  };
  if (!k.writing()) return set_sparse(c, sparse);
  bool same = true;
  Keys::Json written = Keys::Json::array();
  for (int i = 0; i < c.layers; ++i) {
    same = same && c.kind(i).sparse == sparse(i);
    if (!c.kind(i).sparse) written.push_back(i);
  }
  if (same) return;
  k.set("decoder_sparse_step", 1);
  k.set("mlp_only_layers", written);
}

void qwen_expert_keys(Keys& k, ModelConfig& c, int64_t default_count, int64_t default_active) {
  k.integer({"num_experts", "num_local_experts"}, c.experts.count, default_count);
  k.integer("num_experts_per_tok", c.experts.active, default_active);
  k.flag("norm_topk_prob", c.experts.renormalise, false);
  k.harmless({"router_aux_loss_coef", "output_router_logits"});
}

}  // namespace

void qwen2_moe_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.kv_heads = 16});
  activation_key(k, c, "hidden_act", Activation::silu);
  qwen_window_keys(k, c, 4096);
  k.flag("qkv_bias", c.qkv_bias, true);
  qwen_expert_keys(k, c, 60, 4);
  k.integer("moe_intermediate_size", c.experts.width, 1408);
  k.integer("shared_expert_intermediate_size", c.experts.shared_width, 5632);
  c.experts.shared_router = true;
  qwen_sparse_keys(k, c);
}

void qwen3_moe_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.kv_heads = 4});
  activation_key(k, c, "hidden_act", Activation::silu);
  biases(k, c, false);
  qwen_window_keys(k, c, 4096);
  qwen_expert_keys(k, c, 128, 8);
  k.integer("moe_intermediate_size", c.experts.width, 768);
  c.query_key_norm = QueryKeyNorm::per_head;
  qwen_sparse_keys(k, c);
}

namespace {

void gemma_common(Keys& k, ModelConfig& c, const FamilyDefaults& d) {
  common_keys(k, c, d);
  // Old files say "gelu" under hidden_act and mean the approximation by tanh.
  activation_key(k, c, "hidden_activation", Activation::gelu_tanh);
  if (const auto* old = k.get("hidden_act"))
    CUPEL_CHECK(*old == "gelu" || *old == "gelu_pytorch_tanh", data, "config.json: hidden_act is ",
                old->dump(), ", which this family does not have");
  k.harmless({"cache_implementation"});
  biases(k, c, false);
  c.norm_plus_one = true;
  if (!k.writing()) c.embedding_scale = std::sqrt(static_cast<double>(c.hidden));
}

}  // namespace

void gemma_keys(Keys& k, ModelConfig& c) {
  gemma_common(k, c, {.kv_heads = 16, .head_dim = 256, .tied = true});
  k.only("use_bidirectional_attention", false);
}

namespace {

void query_scale_key(Keys& k, ModelConfig& c) {
  double scalar = c.score_scale > 0 ? 1 / (c.score_scale * c.score_scale) : 256;
  k.real("query_pre_attn_scalar", scalar, 256);
  if (!k.writing()) c.score_scale = 1 / std::sqrt(scalar);
}

void cap_key(Keys& k, const char* key, double& cap, double otherwise) {
  if (!k.writing() && !k.present(key))
    cap = otherwise;
  else
    k.optional_real(key, cap);
}

}  // namespace

void gemma2_keys(Keys& k, ModelConfig& c) {
  gemma_common(k, c, {.kv_heads = 4, .head_dim = 256, .tied = true});
  c.post_norm = true;
  query_scale_key(k, c);
  cap_key(k, "attn_logit_softcapping", c.score_cap, 50);
  cap_key(k, "final_logit_softcapping", c.logit_cap, 30);
  window_keys(k, c, 4096, even);
  k.only("use_bidirectional_attention", false);
}

void gemma3_keys(Keys& k, ModelConfig& c) {
  gemma_common(k, c,
               {.kv_heads = 4, .head_dim = 256, .theta = 1e6, .local_theta = 10000, .tied = true});
  c.post_norm = true;
  c.query_key_norm = QueryKeyNorm::per_head;
  query_scale_key(k, c);
  cap_key(k, "attn_logit_softcapping", c.score_cap, 0);
  cap_key(k, "final_logit_softcapping", c.logit_cap, 0);
  int64_t pattern = 6;
  for (const char* key : {"_sliding_window_pattern", "sliding_window_pattern"})
    if (const auto* stored = k.get(key); stored && stored->is_number_integer() && *stored > 0)
      pattern = stored->get<int64_t>();
  window_keys(k, c, 4096, [&](int64_t layer) { return (layer + 1) % pattern != 0; });
  k.only("use_bidirectional_attention", false);
}

void phi3_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.norm_eps = 1e-5});
  activation_key(k, c, "hidden_act", Activation::silu);
  window_keys(k, c, 0, every);
  k.only("attention_bias", false);
  k.harmless({"embd_pdrop", "resid_pdrop"});
}

void smollm3_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.kv_heads = 4, .theta = 2e6, .tied = true});
  activation_key(k, c, "hidden_act", Activation::silu);
  biases(k, c, false);
  k.flag("mlp_bias", c.mlp_bias, false);
  int64_t interval = 4;
  if (const auto* stored = k.get("no_rope_layer_interval");
      stored && stored->is_number_integer() && *stored > 0)
    interval = stored->get<int64_t>();
  layer_list(
      k, "no_rope_layers", c, [&](int64_t layer) { return (layer + 1) % interval != 0; },
      &LayerKind::rope);
  bool on = false;
  for (const LayerKind& kind : c.kinds) on = on || kind.window > 0;
  k.flag("use_sliding_window", on, false);
  window_keys(k, c, 0,
              [&](int64_t layer) { return on && !c.kinds[static_cast<std::size_t>(layer)].rope; });
}

void olmo2_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.norm_eps = 1e-5});
  activation_key(k, c, "hidden_act", Activation::silu);
  biases(k, c, false);
  c.pre_norm = false;
  c.post_norm = true;
  c.query_key_norm = QueryKeyNorm::full_width;
}

void olmoe_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.norm_eps = 1e-5});
  activation_key(k, c, "hidden_act", Activation::silu);
  biases(k, c, false);
  k.optional_real("clip_qkv", c.clip_qkv);
  qwen_expert_keys(k, c, 64, 8);
  mixture(c, k);
  c.query_key_norm = QueryKeyNorm::full_width;
  if (!k.writing()) set_sparse(c, every);
}

namespace {

void granite_multipliers(Keys& k, ModelConfig& c) {
  k.real("embedding_multiplier", c.embedding_scale, 1);
  k.real("residual_multiplier", c.residual_scale, 1);
  k.real("logits_scaling", c.logit_divisor, 1);
  k.real("attention_multiplier", c.score_scale, 1);
}

}  // namespace

void granite_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {});
  activation_key(k, c, "hidden_act", Activation::silu);
  biases(k, c, false);
  k.flag("mlp_bias", c.mlp_bias, false);
  granite_multipliers(k, c);
}

void granite_moe_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {});
  activation_key(k, c, "hidden_act", Activation::silu);
  biases(k, c, false);
  granite_multipliers(k, c);
  k.integer("num_local_experts", c.experts.count, 8);
  k.integer("num_experts_per_tok", c.experts.active, 2);
  k.harmless({"router_aux_loss_coef", "output_router_logits"});
  mixture(c, k);
  c.experts.routing = Routing::best_first;
  if (!k.writing()) set_sparse(c, every);
}

void gpt_oss_keys(Keys& k, ModelConfig& c) {
  common_keys(k, c, {.kv_heads = 8, .head_dim = 64, .norm_eps = 1e-5, .theta = 150000});
  k.only("hidden_act", "silu");
  biases(k, c, true);
  window_keys(k, c, 128, even);
  k.integer({"num_local_experts", "num_experts"}, c.experts.count, 128);
  k.integer({"num_experts_per_tok", "experts_per_token"}, c.experts.active, 4);
  k.real("swiglu_limit", c.swiglu_limit, 7);
  k.real("swiglu_alpha", c.swiglu_alpha, 1.702);
  k.harmless({"router_aux_loss_coef", "output_router_logits", "initial_context_length"});
  mixture(c, k);
  c.activation = Activation::clamped_swiglu;
  c.sinks = true;
  c.experts.routing = Routing::best_first;
  c.experts.router_bias = c.experts.bias = true;
  if (!k.writing()) set_sparse(c, every);
}

namespace {

void deepseek_attention_keys(Keys& k, ModelConfig& c) {
  LowRankAttention& l = c.low_rank;
  k.count("q_lora_rank", l.query_rank, 1536);
  k.integer("kv_lora_rank", l.kv_rank, 512);
  k.integer("qk_nope_head_dim", l.nope_dim, 128);
  k.integer("qk_rope_head_dim", l.rope_dim, 64);
  k.integer("v_head_dim", c.value_dim, 128);
  k.harmless({"head_dim", "qk_head_dim"});
  k.only("attention_bias", false);
  k.only("mlp_bias", false);
  if (k.writing()) return;
  c.head_dim = l.nope_dim + l.rope_dim;
  c.rope.dim = l.rope_dim;
  c.score_scale = rope_score_scale(c.rope) / std::sqrt(static_cast<double>(c.head_dim));
}

void deepseek_expert_keys(Keys& k, ModelConfig& c, int64_t default_dense) {
  Experts& e = c.experts;
  k.integer({"n_routed_experts", "num_local_experts"}, e.count, 256);
  k.integer("num_experts_per_tok", e.active, 8);
  k.integer("moe_intermediate_size", e.width, 2048);
  int64_t shared = e.width > 0 ? e.shared_width / e.width : 0;
  k.count("n_shared_experts", shared, 1);
  k.real("routed_scaling_factor", e.scale, 1);
  k.only("moe_layer_freq", 1);
  int64_t dense = 0;
  while (dense < c.layers && k.writing() && !c.kind(static_cast<int>(dense)).sparse) ++dense;
  k.count("first_k_dense_replace", dense, default_dense);
  k.count("num_nextn_predict_layers", c.extra_layers);
  k.harmless(
      {"ep_size", "aux_loss_alpha", "seq_aux", "output_router_logits", "router_aux_loss_coef"});
  if (k.writing()) return;
  e.shared_width = shared * e.width;
  set_sparse(c, [&](int64_t layer) { return layer >= dense; });
}

/// The config's head_dim is that of the rotary part; ours is that of a whole key.
void deepseek_common(Keys& k, ModelConfig& c, double theta) {
  const int64_t dims = c.head_dim;
  if (k.writing()) c.head_dim = c.low_rank.rope_dim;
  common_keys(k, c, {.head_dim = 64, .theta = theta});
  if (k.writing()) c.head_dim = dims;
  activation_key(k, c, "hidden_act", Activation::silu);
}

}  // namespace

void deepseek_v2_keys(Keys& k, ModelConfig& c) {
  deepseek_common(k, c, 10000);
  deepseek_attention_keys(k, c);
  deepseek_expert_keys(k, c, 0);
  Experts& e = c.experts;
  std::string method = e.group_score == GroupScore::none ? "greedy" : "group_limited_greedy";
  k.choice("topk_method", method, "greedy");
  CUPEL_CHECK(method == "greedy" || method == "group_limited_greedy", data,
              "config.json: topk_method '", method,
              "' is not supported (known: greedy, group_limited_greedy)");
  k.only("scoring_func", "softmax");
  k.count("n_group", e.groups, 1);
  k.count("topk_group", e.best_groups, 1);
  k.only("norm_topk_prob", false);  // the class in transformers reads it without use
  if (k.writing()) return;
  e.group_score = method == "greedy" ? GroupScore::none : GroupScore::largest;
  c.rope.interleaved = true;
}

void deepseek_v3_keys(Keys& k, ModelConfig& c) {
  deepseek_common(k, c, 10000);
  deepseek_attention_keys(k, c);
  deepseek_expert_keys(k, c, 3);
  Experts& e = c.experts;
  k.flag("norm_topk_prob", e.renormalise, true);
  k.integer("n_group", e.groups, 8);
  k.integer("topk_group", e.best_groups, 4);
  k.only("topk_method", "noaux_tc");
  k.only("scoring_func", "sigmoid");
  k.flag("rope_interleave", c.rope.interleaved, true);
  k.harmless({"auto_map"});
  e.routing = Routing::sigmoid;
  e.group_score = GroupScore::two_largest;
  e.router_correction = true;
}

}  // namespace cupel::format
