// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string_view>

namespace cupel::format {

/// What a weight does in a decoder; one name pattern per role and family.
enum class Role : uint8_t {
  embedding,
  head,
  final_norm,
  // Attention. With low-rank queries and keys (MLA) query_a .. kv_b stand for query, key and value.
  attention_norm,
  query,
  key,
  value,
  output,
  query_bias,
  key_bias,
  value_bias,
  output_bias,
  query_norm,
  key_norm,
  sinks,
  query_a,
  query_a_norm,
  query_b,
  kv_a,
  kv_a_norm,
  kv_b,
  post_attention_norm,
  // The dense MLP.
  mlp_norm,
  gate,
  up,
  down,
  gate_bias,
  up_bias,
  down_bias,
  // Experts: the router, each expert, and those that every token visits.
  router,
  router_bias,
  router_correction,
  expert_gate,
  expert_up,
  expert_down,
  expert_gate_bias,
  expert_up_bias,
  expert_down_bias,
  shared_gate,
  shared_up,
  shared_down,
  shared_router,
  post_mlp_norm,
};
constexpr int kRoles = static_cast<int>(Role::post_mlp_norm) + 1;
std::string_view role_name(Role role);

/// True for the matrices that quantization and pruning work on: no norms, biases or routers.
bool is_matrix(Role role);
bool is_norm(Role role);
/// One for each expert.
bool is_expert(Role role);

/// A weight's place: role, layer (-1 for those outside the layers), expert (-1 for all others).
struct WeightId {
  Role role = Role::embedding;
  int layer = -1;
  int expert = -1;
  friend bool operator==(const WeightId&, const WeightId&) = default;
  friend auto operator<=>(const WeightId&, const WeightId&) = default;
};

}  // namespace cupel::format
