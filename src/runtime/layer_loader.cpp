// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The layers of a Model: which weights each has, by the configuration.
#include "base/error.h"
#include "runtime/model_loader.h"

namespace cupel::runtime {

using format::Role;

Model::Layer ModelLoader::layer(int l) {
  const auto& config = model_->config_;
  Model::Layer layer;
  layer.attention_norm = norm_if(config.pre_norm, {Role::attention_norm, l});
  layer.post_attention_norm = norm_if(config.post_norm, {Role::post_attention_norm, l});
  layer.mlp_norm = norm_if(config.pre_norm, {Role::mlp_norm, l});
  layer.post_mlp_norm = norm_if(config.post_norm, {Role::post_mlp_norm, l});
  layer.attention = attention(l);
  if (config.kind(l).sparse)
    layer.experts = experts(l);
  else
    layer.mlp = dense_mlp(l);
  return layer;
}

Model::Attention ModelLoader::attention(int l) {
  const auto& config = model_->config_;
  Model::Attention a;
  if (config.is_low_rank()) {
    low_rank(l, a);
  } else {
    a.in = shared_input({{Role::query, l}, {Role::key, l}, {Role::value, l}});
    a.query = matrix({Role::query, l});
    a.key = matrix({Role::key, l});
    a.value = matrix({Role::value, l});
    a.query_bias = vector_if(config.qkv_bias, {Role::query_bias, l});
    a.key_bias = vector_if(config.qkv_bias, {Role::key_bias, l});
    a.value_bias = vector_if(config.qkv_bias, {Role::value_bias, l});
  }
  const bool norms = config.query_key_norm != format::QueryKeyNorm::none;
  a.query_norm = norm_if(norms, {Role::query_norm, l});
  a.key_norm = norm_if(norms, {Role::key_norm, l});
  a.sinks = vector_if(config.sinks, {Role::sinks, l});
  a.output_in = shared_input({{Role::output, l}});
  a.output = matrix({Role::output, l});
  a.output_bias = vector_if(config.output_bias, {Role::output_bias, l});
  return a;
}

void ModelLoader::low_rank(int l, Model::Attention& a) {
  if (model_->config_.low_rank.query_rank > 0) {
    a.in = shared_input({{Role::query_a, l}, {Role::kv_a, l}});
    a.query_a = matrix({Role::query_a, l});
    a.query_a_norm = norm_if(true, {Role::query_a_norm, l});
    a.query_b = matrix({Role::query_b, l});
    a.query_b_in = shared_input({{Role::query_b, l}});
  } else {
    a.in = shared_input({{Role::query, l}, {Role::kv_a, l}});
    a.query = matrix({Role::query, l});
  }
  a.kv_a = matrix({Role::kv_a, l});
  a.kv_a_norm = norm_if(true, {Role::kv_a_norm, l});
  a.kv_b = matrix({Role::kv_b, l});
  a.kv_b_in = shared_input({{Role::kv_b, l}});
}

Model::Mlp ModelLoader::dense_mlp(int l) {
  const bool biases = model_->config_.mlp_bias;
  return {.gate = matrix({Role::gate, l}),
          .up = matrix({Role::up, l}),
          .down = matrix({Role::down, l}),
          .gate_bias = vector_if(biases, {Role::gate_bias, l}),
          .up_bias = vector_if(biases, {Role::up_bias, l}),
          .down_bias = vector_if(biases, {Role::down_bias, l}),
          .in = shared_input({{Role::gate, l}, {Role::up, l}}),
          .down_in = shared_input({{Role::down, l}})};
}

Model::Mlp ModelLoader::expert(int l, int e) {
  const bool biases = model_->config_.experts.bias;
  return {.gate = matrix({Role::expert_gate, l, e}),
          .up = matrix({Role::expert_up, l, e}),
          .down = matrix({Role::expert_down, l, e}),
          .gate_bias = vector_if(biases, {Role::expert_gate_bias, l, e}),
          .up_bias = vector_if(biases, {Role::expert_up_bias, l, e}),
          .down_bias = vector_if(biases, {Role::expert_down_bias, l, e}),
          .in = shared_input({{Role::expert_gate, l, e}, {Role::expert_up, l, e}}),
          .down_in = shared_input({{Role::expert_down, l, e}})};
}

Model::Mlp ModelLoader::shared_expert(int l) {
  return {.gate = matrix({Role::shared_gate, l}),
          .up = matrix({Role::shared_up, l}),
          .down = matrix({Role::shared_down, l}),
          .gate_bias = {},
          .up_bias = {},
          .down_bias = {},
          .in = shared_input({{Role::shared_gate, l}, {Role::shared_up, l}}),
          .down_in = shared_input({{Role::shared_down, l}})};
}

Model::Experts ModelLoader::experts(int l) {
  const format::Experts& e = model_->config_.experts;
  CUPEL_CHECK(e.active >= 1 && e.active <= e.count, data, "a token visits ", e.active, " of ",
              e.count, " experts, says the configuration");
  CUPEL_CHECK(e.group_score == format::GroupScore::none ||
                  (e.groups >= 1 && e.count % e.groups == 0 && e.best_groups >= 1 &&
                   e.best_groups <= e.groups),
              data, e.count, " experts in ", e.groups, " groups, ", e.best_groups,
              " of them chosen, is what the configuration says; it does not come out even");
  Model::Experts experts;
  const auto& router = weight({Role::router, l});
  CUPEL_CHECK(router.input.identity() && router.rounding.none(), data, router.name,
              ": a router reads its input as it is, but an input transform or a rounding is stored "
              "with it");
  experts.router = matrix({Role::router, l});
  experts.router_bias = vector_if(e.router_bias, {Role::router_bias, l});
  experts.router_correction = vector_if(e.router_correction, {Role::router_correction, l});
  for (int i = 0; i < e.count; ++i) experts.routed.push_back(expert(l, i));
  if (e.shared_width > 0) experts.shared = shared_expert(l);
  if (e.shared_router) {
    shared_input({{Role::router, l}, {Role::shared_router, l}});
    experts.shared_router = matrix({Role::shared_router, l});
  }
  return experts;
}

}  // namespace cupel::runtime
