// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/model_config.h"

#include <cmath>

#include "base/error.h"
#include "format/architecture.h"

namespace cupel::format {
namespace {

using Ids = std::vector<WeightId>;

/// The weights of one layer, collected by what the configuration says.
class LayerWeightList {
 public:
  LayerWeightList(const ModelConfig& config, int layer) : c_(config), layer_(layer) {}

  Ids list() {
    attention();
    if (c_.pre_norm) add({Role::mlp_norm});
    if (c_.kind(layer_).sparse)
      experts();
    else
      add_with_bias({Role::gate, Role::up, Role::down},
                    {Role::gate_bias, Role::up_bias, Role::down_bias}, c_.mlp_bias);
    if (c_.post_norm) add({Role::post_mlp_norm});
    return std::move(ids_);
  }

 private:
  void add(std::initializer_list<Role> roles, int expert = -1) {
    for (const Role role : roles) ids_.push_back({role, layer_, expert});
  }
  void add_with_bias(std::initializer_list<Role> roles, std::initializer_list<Role> biases,
                     bool with, int expert = -1) {
    add(roles, expert);
    if (with) add(biases, expert);
  }

  void attention() {
    if (c_.pre_norm) add({Role::attention_norm});
    if (c_.is_low_rank()) {
      if (c_.low_rank.query_rank > 0)
        add({Role::query_a, Role::query_a_norm, Role::query_b});
      else
        add({Role::query});
      add({Role::kv_a, Role::kv_a_norm, Role::kv_b});
    } else {
      add_with_bias({Role::query, Role::key, Role::value},
                    {Role::query_bias, Role::key_bias, Role::value_bias}, c_.qkv_bias);
    }
    if (c_.query_key_norm != QueryKeyNorm::none) add({Role::query_norm, Role::key_norm});
    if (c_.sinks) add({Role::sinks});
    add_with_bias({Role::output}, {Role::output_bias}, c_.output_bias);
    if (c_.post_norm) add({Role::post_attention_norm});
  }

  void experts() {
    const Experts& e = c_.experts;
    add_with_bias({Role::router}, {Role::router_bias}, e.router_bias);
    if (e.router_correction) add({Role::router_correction});
    for (int i = 0; i < e.count; ++i)
      add_with_bias({Role::expert_gate, Role::expert_up, Role::expert_down},
                    {Role::expert_gate_bias, Role::expert_up_bias, Role::expert_down_bias}, e.bias,
                    i);
    if (e.shared_width > 0) add({Role::shared_gate, Role::shared_up, Role::shared_down});
    if (e.shared_router) add({Role::shared_router});
  }

  const ModelConfig& c_;
  int layer_;
  Ids ids_;
};

}  // namespace

const Architecture& ModelConfig::architecture() const {
  return architecture_of_family(family);
}

int64_t ModelConfig::rope_dims(const Rope& of) const {
  if (is_low_rank()) return low_rank.rope_dim;
  return of.dim > 0 ? of.dim : head_dim;
}

double ModelConfig::attention_scale() const {
  return score_scale > 0 ? score_scale : 1 / std::sqrt(static_cast<double>(head_dim));
}

std::vector<int64_t> ModelConfig::shape_of(Role role) const {
  const int64_t q = heads * head_dim, k = kv_heads * head_dim, v = kv_heads * values_dim();
  const LowRankAttention& l = low_rank;
  switch (role) {
    case Role::embedding:
    case Role::head:
      return {vocab, hidden};
    case Role::final_norm:
    case Role::attention_norm:
    case Role::post_attention_norm:
    case Role::mlp_norm:
    case Role::post_mlp_norm:
    case Role::output_bias:
    case Role::down_bias:
    case Role::expert_down_bias:
      return {hidden};
    case Role::query:
      return {q, hidden};
    case Role::key:
      return {k, hidden};
    case Role::value:
      return {v, hidden};
    case Role::output:
      return {hidden, heads * values_dim()};
    case Role::query_bias:
      return {q};
    case Role::key_bias:
      return {k};
    case Role::value_bias:
      return {v};
    case Role::query_norm:
      return {query_key_norm == QueryKeyNorm::full_width ? q : head_dim};
    case Role::key_norm:
      return {query_key_norm == QueryKeyNorm::full_width ? k : head_dim};
    case Role::sinks:
      return {heads};
    case Role::query_a:
      return {l.query_rank, hidden};
    case Role::query_a_norm:
      return {l.query_rank};
    case Role::query_b:
      return {q, l.query_rank};
    case Role::kv_a:
      return {l.kv_rank + l.rope_dim, hidden};
    case Role::kv_a_norm:
      return {l.kv_rank};
    case Role::kv_b:
      return {heads * (l.nope_dim + values_dim()), l.kv_rank};
    case Role::gate:
    case Role::up:
      return {intermediate, hidden};
    case Role::down:
      return {hidden, intermediate};
    case Role::gate_bias:
    case Role::up_bias:
      return {intermediate};
    case Role::router:
      return {experts.count, hidden};
    case Role::router_bias:
    case Role::router_correction:
      return {experts.count};
    case Role::expert_gate:
    case Role::expert_up:
      return {experts.width, hidden};
    case Role::expert_down:
      return {hidden, experts.width};
    case Role::expert_gate_bias:
    case Role::expert_up_bias:
      return {experts.width};
    case Role::shared_gate:
    case Role::shared_up:
      return {experts.shared_width, hidden};
    case Role::shared_down:
      return {hidden, experts.shared_width};
    case Role::shared_router:
      return {1, hidden};
  }
  fail(Fault::internal, "a role without shape");
}

Ids layer_weight_ids(const ModelConfig& config, int layer) {
  return LayerWeightList(config, layer).list();
}

Ids weight_ids(const ModelConfig& config) {
  Ids ids = {{Role::embedding}};
  for (int layer = 0; layer < config.layers; ++layer) {
    const Ids more = layer_weight_ids(config, layer);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  ids.push_back({Role::final_norm});
  if (!config.tied_head) ids.push_back({Role::head});
  return ids;
}

std::vector<Ids> input_groups(const ModelConfig& config, int layer) {
  std::vector<Ids> groups;
  const auto add = [&](std::initializer_list<Role> roles, int expert = -1) {
    Ids group;
    for (const Role role : roles) group.push_back({role, layer, expert});
    groups.push_back(std::move(group));
  };
  if (!config.is_low_rank()) {
    add({Role::query, Role::key, Role::value});
  } else if (config.low_rank.query_rank > 0) {
    add({Role::query_a, Role::kv_a});
    add({Role::query_b});
    add({Role::kv_b});
  } else {
    add({Role::query, Role::kv_a});
    add({Role::kv_b});
  }
  add({Role::output});
  if (!config.kind(layer).sparse) {
    add({Role::gate, Role::up});
    add({Role::down});
    return groups;
  }
  for (int i = 0; i < config.experts.count; ++i) {
    add({Role::expert_gate, Role::expert_up}, i);
    add({Role::expert_down}, i);
  }
  if (config.experts.shared_width > 0) {
    add({Role::shared_gate, Role::shared_up});
    add({Role::shared_down});
  }
  return groups;
}

}  // namespace cupel::format
