// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The keys of config.json that nearly all families share.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/config_keys.h"

namespace cupel::format {
namespace {

struct ActivationName {
  const char* name;
  Activation activation;
};
/// The first name of each is the one that is written.
constexpr ActivationName kActivations[] = {
    {"silu", Activation::silu},          {"swish", Activation::silu},
    {"gelu", Activation::gelu},          {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_new", Activation::gelu_tanh}, {"gelu_fast", Activation::gelu_tanh},
};

void head_dim_key(ConfigKeys& keys, ModelConfig& c, int64_t default_dim) {
  int64_t otherwise = default_dim;
  if (otherwise == 0 && !keys.writing()) {
    CUPEL_CHECK(keys.get("head_dim") || c.hidden % c.heads == 0, data, "config.json: hidden_size ",
                c.hidden, " is not a multiple of ", c.heads, " heads, and head_dim is not given");
    otherwise = c.hidden / c.heads;
  }
  if (otherwise == 0) otherwise = c.heads > 0 && c.hidden % c.heads == 0 ? c.hidden / c.heads : 1;
  keys.integer("head_dim", c.head_dim, otherwise);
}

}  // namespace

void activation_key(ConfigKeys& keys, ModelConfig& c, const KeyNames& key, Activation otherwise) {
  const auto name_of = [](Activation a) {
    for (const ActivationName& known : kActivations)
      if (known.activation == a) return std::string(known.name);
    return std::string("silu");
  };
  std::string name = name_of(c.activation);
  keys.choice(key, name, name_of(otherwise));
  if (keys.writing()) return;
  for (const ActivationName& known : kActivations)
    if (name == known.name) {
      c.activation = known.activation;
      return;
    }
  std::vector<std::string> known_names;
  for (const ActivationName& known : kActivations) known_names.emplace_back(known.name);
  fail(Fault::data, "config.json: ", key.names.front(), " '", name,
       "' is not supported (known: ", list_text(known_names), ")");
}

void common_keys(ConfigKeys& keys, ModelConfig& c, const FamilyDefaults& d) {
  keys.integer("vocab_size", c.vocab);
  keys.integer("hidden_size", c.hidden);
  keys.integer("num_hidden_layers", c.layers);
  keys.integer("num_attention_heads", c.heads);
  keys.integer("num_key_value_heads", c.kv_heads, d.kv_heads > 0 ? d.kv_heads : c.heads);
  keys.integer("intermediate_size", c.intermediate);
  keys.integer("max_position_embeddings", c.max_positions, 2048);
  keys.real("rms_norm_eps", c.norm_eps, d.norm_eps);
  keys.flag("tie_word_embeddings", c.tied_head, d.tied);
  head_dim_key(keys, c, d.head_dim);
  rope_keys(keys, c, d);
  if (!keys.writing()) {
    CUPEL_CHECK(c.layers <= 100'000, data, "config.json: impossible sizes (", c.layers, " layers)");
    c.kinds.assign(static_cast<std::size_t>(c.layers), LayerKind());
  }
}

}  // namespace cupel::format
