// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The model families: names of their weights, and what reads their config.json.
#include "base/error.h"
#include "format/architecture.h"
#include "format/family_keys.h"

namespace cupel::format {
namespace {

using Names = std::vector<NamePattern>;

Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Weights. Patterns that several families share.

const Names kOutside = {
    {Role::embedding, "model.embed_tokens.weight", "token_embd.weight"},
    {Role::final_norm, "model.norm.weight", "output_norm.weight"},
    {Role::head, "lm_head.weight", "output.weight"},
};
const Names kAttention = {
    {Role::query, "model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight"},
    {Role::key, "model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight"},
    {Role::value, "model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {Role::output, "model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
};
const Names kQkvBias = {
    {Role::query_bias, "model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias"},
    {Role::key_bias, "model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias"},
    {Role::value_bias, "model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias"},
};
const Names kOutputBias = {
    {Role::output_bias, "model.layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias"},
};
const Names kQueryKeyNorm = {
    {Role::query_norm, "model.layers.{}.self_attn.q_norm.weight", "blk.{}.attn_q_norm.weight"},
    {Role::key_norm, "model.layers.{}.self_attn.k_norm.weight", "blk.{}.attn_k_norm.weight"},
};
const Names kPreNorms = {
    {Role::attention_norm, "model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {Role::mlp_norm, "model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
};
const Names kGptOssNorms = {
    {Role::attention_norm, "model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {Role::mlp_norm, "model.layers.{}.post_attention_layernorm.weight",
     "blk.{}.post_attention_norm.weight"},
};
const Names kPostNorms = {
    {Role::post_attention_norm, "model.layers.{}.post_attention_layernorm.weight",
     "blk.{}.post_attention_norm.weight"},
    {Role::post_mlp_norm, "model.layers.{}.post_feedforward_layernorm.weight",
     "blk.{}.post_ffw_norm.weight"},
};
const Names kFourNorms = Names{{Role::attention_norm, "model.layers.{}.input_layernorm.weight",
                                "blk.{}.attn_norm.weight"},
                               {Role::mlp_norm, "model.layers.{}.pre_feedforward_layernorm.weight",
                                "blk.{}.ffn_norm.weight"}} +
                         kPostNorms;
const Names kMlp = {
    {Role::gate, "model.layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {Role::up, "model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
    {Role::down, "model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight"},
};
const Names kMlpBias = {
    {Role::gate_bias, "model.layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias"},
    {Role::up_bias, "model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias"},
    {Role::down_bias, "model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias"},
};
const Names kExperts = {
    {Role::router, "model.layers.{}.mlp.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {Role::expert_gate, "model.layers.{}.mlp.experts.{}.gate_proj.weight",
     "blk.{}.ffn_gate_exps.weight"},
    {Role::expert_up, "model.layers.{}.mlp.experts.{}.up_proj.weight", "blk.{}.ffn_up_exps.weight"},
    {Role::expert_down, "model.layers.{}.mlp.experts.{}.down_proj.weight",
     "blk.{}.ffn_down_exps.weight"},
};
const Names kMixtralExperts = {
    {Role::router, "model.layers.{}.block_sparse_moe.gate.weight", "blk.{}.ffn_gate_inp.weight",
     "model.layers.{}.mlp.gate.weight"},
    {Role::expert_gate, "model.layers.{}.block_sparse_moe.experts.{}.w1.weight",
     "blk.{}.ffn_gate_exps.weight", "", "blk.{}.ffn_gate.{}.weight"},
    {Role::expert_up, "model.layers.{}.block_sparse_moe.experts.{}.w3.weight",
     "blk.{}.ffn_up_exps.weight", "", "blk.{}.ffn_up.{}.weight"},
    {Role::expert_down, "model.layers.{}.block_sparse_moe.experts.{}.w2.weight",
     "blk.{}.ffn_down_exps.weight", "", "blk.{}.ffn_down.{}.weight"},
};
const Names kSharedExpert = {
    {Role::shared_gate, "model.layers.{}.mlp.shared_expert.gate_proj.weight",
     "blk.{}.ffn_gate_shexp.weight"},
    {Role::shared_up, "model.layers.{}.mlp.shared_expert.up_proj.weight",
     "blk.{}.ffn_up_shexp.weight"},
    {Role::shared_down, "model.layers.{}.mlp.shared_expert.down_proj.weight",
     "blk.{}.ffn_down_shexp.weight"},
    {Role::shared_router, "model.layers.{}.mlp.shared_expert_gate.weight",
     "blk.{}.ffn_gate_inp_shexp.weight"},
};
const Names kGptOssExperts = {
    {Role::router, "model.layers.{}.mlp.router.weight", "blk.{}.ffn_gate_inp.weight"},
    {Role::router_bias, "model.layers.{}.mlp.router.bias", "blk.{}.ffn_gate_inp.bias"},
    {Role::expert_gate, "model.layers.{}.mlp.experts.{}.gate_proj.weight",
     "blk.{}.ffn_gate_exps.weight"},
    {Role::expert_up, "model.layers.{}.mlp.experts.{}.up_proj.weight", "blk.{}.ffn_up_exps.weight"},
    {Role::expert_down, "model.layers.{}.mlp.experts.{}.down_proj.weight",
     "blk.{}.ffn_down_exps.weight"},
    {Role::expert_gate_bias, "model.layers.{}.mlp.experts.{}.gate_proj.bias",
     "blk.{}.ffn_gate_exps.bias"},
    {Role::expert_up_bias, "model.layers.{}.mlp.experts.{}.up_proj.bias",
     "blk.{}.ffn_up_exps.bias"},
    {Role::expert_down_bias, "model.layers.{}.mlp.experts.{}.down_proj.bias",
     "blk.{}.ffn_down_exps.bias"},
    {Role::sinks, "model.layers.{}.self_attn.sinks", "blk.{}.attn_sinks.weight"},
};
const Names kGraniteExperts = {
    {Role::router, "model.layers.{}.block_sparse_moe.router.layer.weight",
     "blk.{}.ffn_gate_inp.weight"},
    {Role::expert_gate, "model.layers.{}.block_sparse_moe.experts.{}.gate_proj.weight",
     "blk.{}.ffn_gate_exps.weight"},
    {Role::expert_up, "model.layers.{}.block_sparse_moe.experts.{}.up_proj.weight",
     "blk.{}.ffn_up_exps.weight"},
    {Role::expert_down, "model.layers.{}.block_sparse_moe.experts.{}.down_proj.weight",
     "blk.{}.ffn_down_exps.weight"},
};
const Names kDeepSeek = {
    {Role::query, "model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight"},
    {Role::query_a, "model.layers.{}.self_attn.q_a_proj.weight", "blk.{}.attn_q_a.weight"},
    {Role::query_a_norm, "model.layers.{}.self_attn.q_a_layernorm.weight",
     "blk.{}.attn_q_a_norm.weight"},
    {Role::query_b, "model.layers.{}.self_attn.q_b_proj.weight", "blk.{}.attn_q_b.weight"},
    {Role::kv_a, "model.layers.{}.self_attn.kv_a_proj_with_mqa.weight",
     "blk.{}.attn_kv_a_mqa.weight"},
    {Role::kv_a_norm, "model.layers.{}.self_attn.kv_a_layernorm.weight",
     "blk.{}.attn_kv_a_norm.weight"},
    {Role::kv_b, "model.layers.{}.self_attn.kv_b_proj.weight", "blk.{}.attn_kv_b.weight"},
    {Role::output, "model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
    {Role::router_correction, "model.layers.{}.mlp.gate.e_score_correction_bias",
     "blk.{}.exp_probs_b.bias"},
    {Role::shared_gate, "model.layers.{}.mlp.shared_experts.gate_proj.weight",
     "blk.{}.ffn_gate_shexp.weight"},
    {Role::shared_up, "model.layers.{}.mlp.shared_experts.up_proj.weight",
     "blk.{}.ffn_up_shexp.weight"},
    {Role::shared_down, "model.layers.{}.mlp.shared_experts.down_proj.weight",
     "blk.{}.ffn_down_shexp.weight"},
};

/// transformers 5 in memory, and what it saves without the original names.
const std::vector<FusedPattern> kFusedExperts = {
    {.stored = "model.layers.{}.mlp.experts.gate_up_proj",
     .parts = {Role::expert_gate, Role::expert_up},
     .of_experts = true},
    {.stored = "model.layers.{}.mlp.experts.down_proj",
     .parts = {Role::expert_down},
     .of_experts = true},
};
const std::vector<FusedPattern> kGptOssFused = {
    {.stored = "model.layers.{}.mlp.experts.gate_up_proj",
     .parts = {Role::expert_gate, Role::expert_up},
     .interleaved = true,
     .transposed = true,
     .of_experts = true,
     .written = true},
    {.stored = "model.layers.{}.mlp.experts.gate_up_proj_bias",
     .parts = {Role::expert_gate_bias, Role::expert_up_bias},
     .interleaved = true,
     .of_experts = true,
     .written = true},
    {.stored = "model.layers.{}.mlp.experts.down_proj",
     .parts = {Role::expert_down},
     .transposed = true,
     .of_experts = true,
     .written = true},
    {.stored = "model.layers.{}.mlp.experts.down_proj_bias",
     .parts = {Role::expert_down_bias},
     .of_experts = true,
     .written = true},
};
const std::vector<FusedPattern> kGraniteFused = {
    {.stored = "model.layers.{}.block_sparse_moe.input_linear.weight",
     .parts = {Role::expert_gate, Role::expert_up},
     .of_experts = true,
     .written = true},
    {.stored = "model.layers.{}.block_sparse_moe.output_linear.weight",
     .parts = {Role::expert_down},
     .of_experts = true,
     .written = true},
};
const std::vector<FusedPattern> kPhiFused = {
    {.stored = "model.layers.{}.self_attn.qkv_proj.weight",
     .parts = {Role::query, Role::key, Role::value},
     .written = true},
    {.stored = "model.layers.{}.mlp.gate_up_proj.weight",
     .parts = {Role::gate, Role::up},
     .written = true},
};
const std::vector<FusedPattern> kGgufPhiFused = {
    {.stored = "blk.{}.attn_qkv.weight", .parts = {Role::query, Role::key, Role::value}},
    {.stored = "blk.{}.ffn_up.weight", .parts = {Role::gate, Role::up}},
};
const std::vector<FusedPattern> kGgufFusedExperts = {
    {.stored = "blk.{}.ffn_gate_up_exps.weight",
     .parts = {Role::expert_gate, Role::expert_up},
     .of_experts = true},
};
const std::vector<const char*> kRopeBuffers = {"model.layers.{}.self_attn.rotary_emb.inv_freq",
                                               "model.rotary_emb.inv_freq",
                                               "model.layers.{}.attention.masked_bias"};

std::vector<Architecture> make_table() {
  const Names dense = kOutside + kPreNorms + kAttention + kMlp;
  const Names sparse = kOutside + kPreNorms + kAttention + kMlp + kExperts;
  std::vector<Architecture> table;
  const auto add = [&](const char* family, const char* class_name,
                       std::vector<const char*> gguf_names, Names names,
                       void (*keys)(ConfigKeys&, ModelConfig&)) -> Architecture& {
    Architecture a;
    a.family = family;
    a.class_name = class_name;
    a.gguf_names = std::move(gguf_names);
    a.names = std::move(names);
    a.gguf_fused = kGgufFusedExperts;
    a.ignored_tensors = kRopeBuffers;
    a.keys = keys;
    return table.emplace_back(std::move(a));
  };
  add("llama", "LlamaForCausalLM", {"llama"}, dense + kQkvBias + kOutputBias + kMlpBias, llama_keys)
      .gguf_permutes_query_key = true;
  add("mistral", "MistralForCausalLM", {}, dense, mistral_keys).gguf_permutes_query_key = true;
  Architecture& mixtral = add("mixtral", "MixtralForCausalLM", {},
                              kOutside + kPreNorms + kAttention + kMixtralExperts, mixtral_keys);
  mixtral.fused = kFusedExperts;
  mixtral.gguf_permutes_query_key = true;
  add("qwen2", "Qwen2ForCausalLM", {"qwen2"}, dense + kQkvBias, qwen2_keys);
  add("qwen2_moe", "Qwen2MoeForCausalLM", {"qwen2moe"}, sparse + kQkvBias + kSharedExpert,
      qwen2_moe_keys)
      .fused = kFusedExperts;
  add("qwen3", "Qwen3ForCausalLM", {"qwen3"}, dense + kQkvBias + kOutputBias + kQueryKeyNorm,
      qwen3_keys);
  add("qwen3_moe", "Qwen3MoeForCausalLM", {"qwen3moe"},
      sparse + kQkvBias + kOutputBias + kQueryKeyNorm, qwen3_moe_keys)
      .fused = kFusedExperts;
  add("gemma", "GemmaForCausalLM", {"gemma"}, dense + kQkvBias + kOutputBias, gemma_keys)
      .gguf_adds_one = true;
  add("gemma2", "Gemma2ForCausalLM", {"gemma2"},
      kOutside + kFourNorms + kAttention + kMlp + kQkvBias + kOutputBias, gemma2_keys)
      .gguf_adds_one = true;
  add("gemma3_text", "Gemma3ForCausalLM", {"gemma3"},
      kOutside + kFourNorms + kAttention + kMlp + kQueryKeyNorm + kQkvBias + kOutputBias,
      gemma3_keys)
      .gguf_adds_one = true;
  Architecture& phi3 = add("phi3", "Phi3ForCausalLM", {"phi3"}, dense, phi3_keys);
  phi3.fused = kPhiFused;
  phi3.gguf_fused = kGgufPhiFused;
  add("smollm3", "SmolLM3ForCausalLM", {"smollm3"}, dense + kQkvBias + kOutputBias + kMlpBias,
      smollm3_keys)
      .gguf_permutes_query_key = true;
  add("olmo2", "Olmo2ForCausalLM", {"olmo2"},
      kOutside + kPostNorms + kAttention + kMlp + kQueryKeyNorm + kQkvBias + kOutputBias,
      olmo2_keys);
  add("olmoe", "OlmoeForCausalLM", {"olmoe"},
      kOutside + kPreNorms + kAttention + kExperts + kQueryKeyNorm + kQkvBias + kOutputBias,
      olmoe_keys)
      .fused = kFusedExperts;
  Architecture& granite = add("granite", "GraniteForCausalLM", {"granite"},
                              dense + kQkvBias + kOutputBias + kMlpBias, granite_keys);
  granite.gguf_permutes_query_key = true;
  Architecture& granite_moe =
      add("granitemoe", "GraniteMoeForCausalLM", {"granitemoe"},
          kOutside + kPreNorms + kAttention + kGraniteExperts + kQkvBias + kOutputBias,
          granite_moe_keys);
  granite_moe.fused = kGraniteFused;
  granite_moe.gguf_permutes_query_key = true;
  add("gpt_oss", "GptOssForCausalLM", {"gpt-oss"},
      kOutside + kGptOssNorms + kAttention + kQkvBias + kOutputBias + kGptOssExperts, gpt_oss_keys)
      .fused = kGptOssFused;
  add("deepseek_v2", "DeepseekV2ForCausalLM", {"deepseek2"},
      kOutside + kPreNorms + kMlp + kExperts + kDeepSeek, deepseek_v2_keys)
      .fused = kFusedExperts;
  add("deepseek_v3", "DeepseekV3ForCausalLM", {},
      kOutside + kPreNorms + kMlp + kExperts + kDeepSeek, deepseek_v3_keys)
      .fused = kFusedExperts;
  return table;
}

}  // namespace

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = make_table();
  return all;
}

}  // namespace cupel::format
