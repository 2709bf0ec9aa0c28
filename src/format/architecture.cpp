// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/architecture.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace cupel::format {
namespace {

constexpr std::string_view kRoleNames[] = {"embedding", "head", "final_norm", "attention_norm",
                                           "query",     "key",  "value",      "output",
                                           "mlp_norm",  "gate", "up",         "down"};

Architecture llama() {
  Architecture a;
  a.family = "llama";
  a.model_types = {"llama"};
  a.gguf_names = {"llama"};
  a.names = {
      {Role::embedding, "model.embed_tokens.weight", "token_embd.weight"},
      {Role::attention_norm, "model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
      {Role::query, "model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight"},
      {Role::key, "model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight"},
      {Role::value, "model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
      {Role::output, "model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
      {Role::mlp_norm, "model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
      {Role::gate, "model.layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight"},
      {Role::up, "model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
      {Role::down, "model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight"},
      {Role::final_norm, "model.norm.weight", "output_norm.weight"},
      {Role::head, "lm_head.weight", "output.weight"},
  };
  a.gguf_permutes_query_key = true;
  a.ignored_tensors = {"model.layers.{}.self_attn.rotary_emb.inv_freq",
                       "model.rotary_emb.inv_freq"};
  a.class_name = "LlamaForCausalLM";
  a.default_theta = 10000;
  a.default_eps = 1e-6;
  a.default_tied = false;
  a.activation = "silu";
  return a;
}

template <class Field>
const Architecture& find_by(std::string_view what, std::string_view wanted, Field names_of) {
  std::vector<std::string> known;
  for (const Architecture& a : architectures())
    for (const char* name : names_of(a)) {
      if (wanted == name) return a;
      known.emplace_back(name);
    }
  fail(Fault::data, what, " '", wanted, "' is not supported (known: ", list_text(known), ")");
}

const NamePattern* pattern_of(const Architecture& arch, Role role) {
  for (const NamePattern& p : arch.names)
    if (p.role == role) return &p;
  return nullptr;
}

bool per_layer(const NamePattern& p) {
  return std::string_view(p.canonical).find("{}") != std::string_view::npos;
}

std::string fill(std::string_view pattern, int layer) {
  const std::size_t at = pattern.find("{}");
  if (at == std::string_view::npos) return std::string(pattern);
  return cat(pattern.substr(0, at), layer, pattern.substr(at + 2));
}

std::optional<WeightId> identify(const Architecture& arch, std::string_view name,
                                 const char* NamePattern::*field) {
  for (const NamePattern& p : arch.names)
    if (int layer = -1; matches_pattern(p.*field, name, layer)) return WeightId{p.role, layer};
  return std::nullopt;
}

}  // namespace

std::string_view role_name(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = {llama()};
  return all;
}

const Architecture& architecture_of_model_type(std::string_view model_type) {
  return find_by("model_type", model_type, [](const Architecture& a) { return a.model_types; });
}
const Architecture& architecture_of_gguf(std::string_view name) {
  return find_by("GGUF architecture", name, [](const Architecture& a) { return a.gguf_names; });
}
const Architecture& architecture_of_family(std::string_view family) {
  return find_by("model family", family,
                 [](const Architecture& a) { return std::vector{a.family}; });
}

bool matches_pattern(std::string_view pattern, std::string_view name, int& layer) {
  layer = -1;
  const std::size_t at = pattern.find("{}");
  if (at == std::string_view::npos) return name == pattern;
  const std::string_view before = pattern.substr(0, at), after = pattern.substr(at + 2);
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) ||
      !name.ends_with(after))
    return false;
  const std::string_view digits =
      name.substr(before.size(), name.size() - before.size() - after.size());
  if (digits.size() > 1 && digits.front() == '0') return false;
  int number = -1;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end() || number < 0) return false;
  layer = number;
  return true;
}

std::string canonical_name(const Architecture& arch, WeightId id) {
  const NamePattern* p = pattern_of(arch, id.role);
  CUPEL_CHECK(p, internal, "family ", arch.family, " has no ", role_name(id.role));
  return fill(p->canonical, id.layer);
}
std::string gguf_name(const Architecture& arch, WeightId id) {
  const NamePattern* p = pattern_of(arch, id.role);
  CUPEL_CHECK(p, internal, "family ", arch.family, " has no ", role_name(id.role));
  return fill(p->gguf, id.layer);
}
std::optional<WeightId> id_of_canonical(const Architecture& arch, std::string_view name) {
  return identify(arch, name, &NamePattern::canonical);
}
std::optional<WeightId> id_of_gguf(const Architecture& arch, std::string_view name) {
  return identify(arch, name, &NamePattern::gguf);
}

std::vector<WeightId> weight_ids(const Architecture& arch, int64_t layers, bool tied_head) {
  std::vector<WeightId> ids = {{Role::embedding, -1}};
  for (int layer = 0; layer < layers; ++layer)
    for (const NamePattern& p : arch.names)
      if (per_layer(p)) ids.push_back({p.role, layer});
  for (const NamePattern& p : arch.names)
    if (!per_layer(p) && p.role != Role::embedding && !(p.role == Role::head && tied_head))
      ids.push_back({p.role, -1});
  return ids;
}

std::vector<double> rope_frequencies(const Rope& rope, int64_t head_dim) {
  CUPEL_CHECK(rope.type == "default" || rope.type == "linear" || rope.type == "llama3", data,
              "rope type '", rope.type, "' is not supported (known: default, linear, llama3)");
  std::vector<double> out(static_cast<std::size_t>(head_dim / 2));
  const auto original = static_cast<double>(rope.original_positions);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double f =
        std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    out[i] = f;
    if (rope.type == "linear") out[i] = f / rope.factor;
    if (rope.type != "llama3") continue;
    const double wavelength = 2 * std::numbers::pi / f;
    if (wavelength > original / rope.low_freq_factor) {
      out[i] = f / rope.factor;
    } else if (wavelength >= original / rope.high_freq_factor) {
      const double smooth = (original / wavelength - rope.low_freq_factor) /
                            (rope.high_freq_factor - rope.low_freq_factor);
      out[i] = (1 - smooth) * f / rope.factor + smooth * f;
    }
  }
  return out;
}

std::vector<int64_t> ModelConfig::shape_of(Role role) const {
  switch (role) {
    case Role::embedding:
    case Role::head:
      return {vocab, hidden};
    case Role::final_norm:
    case Role::attention_norm:
    case Role::mlp_norm:
      return {hidden};
    case Role::query:
      return {heads * head_dim, hidden};
    case Role::key:
    case Role::value:
      return {kv_heads * head_dim, hidden};
    case Role::output:
      return {hidden, heads * head_dim};
    case Role::gate:
    case Role::up:
      return {intermediate, hidden};
    case Role::down:
      return {hidden, intermediate};
  }
  fail(Fault::internal, "a role without shape");
}

std::vector<std::vector<Role>> input_groups(const Architecture&) {
  return {
      {Role::query, Role::key, Role::value}, {Role::output}, {Role::gate, Role::up}, {Role::down}};
}

bool is_matrix(Role role) {
  return role != Role::final_norm && role != Role::attention_norm && role != Role::mlp_norm;
}

}  // namespace cupel::format
