// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/role.h"

#include <array>

namespace cupel::format {
namespace {

enum class Kind : uint8_t { vector, norm, matrix };

struct Traits {
  std::string_view name;
  Kind kind;
  bool of_expert = false;
};

constexpr std::array<Traits, kRoles> kTraits = {{
    {"embedding", Kind::matrix},
    {"head", Kind::matrix},
    {"final_norm", Kind::norm},
    {"attention_norm", Kind::norm},
    {"query", Kind::matrix},
    {"key", Kind::matrix},
    {"value", Kind::matrix},
    {"output", Kind::matrix},
    {"query_bias", Kind::vector},
    {"key_bias", Kind::vector},
    {"value_bias", Kind::vector},
    {"output_bias", Kind::vector},
    {"query_norm", Kind::norm},
    {"key_norm", Kind::norm},
    {"sinks", Kind::vector},
    {"query_a", Kind::matrix},
    {"query_a_norm", Kind::norm},
    {"query_b", Kind::matrix},
    {"kv_a", Kind::matrix},
    {"kv_a_norm", Kind::norm},
    {"kv_b", Kind::matrix},
    {"post_attention_norm", Kind::norm},
    {"mlp_norm", Kind::norm},
    {"gate", Kind::matrix},
    {"up", Kind::matrix},
    {"down", Kind::matrix},
    {"gate_bias", Kind::vector},
    {"up_bias", Kind::vector},
    {"down_bias", Kind::vector},
    {"router", Kind::vector},
    {"router_bias", Kind::vector},
    {"router_correction", Kind::vector},
    {"expert_gate", Kind::matrix, true},
    {"expert_up", Kind::matrix, true},
    {"expert_down", Kind::matrix, true},
    {"expert_gate_bias", Kind::vector, true},
    {"expert_up_bias", Kind::vector, true},
    {"expert_down_bias", Kind::vector, true},
    {"shared_gate", Kind::matrix},
    {"shared_up", Kind::matrix},
    {"shared_down", Kind::matrix},
    {"shared_router", Kind::vector},
    {"post_mlp_norm", Kind::norm},
}};

const Traits& traits_of(Role role) {
  return kTraits[static_cast<std::size_t>(role)];
}

}  // namespace

std::string_view role_name(Role role) {
  return traits_of(role).name;
}
bool is_matrix(Role role) {
  return traits_of(role).kind == Kind::matrix;
}
bool is_norm(Role role) {
  return traits_of(role).kind == Kind::norm;
}
bool is_expert(Role role) {
  return traits_of(role).of_expert;
}

}  // namespace cupel::format
