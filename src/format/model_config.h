// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/role.h"
#include "format/rope.h"

namespace cupel::format {

struct Architecture;

enum class Activation : uint8_t {
  silu,
  gelu_tanh,
  gelu,
  clamped_swiglu,  ///< gpt-oss: (up + 1) gate sigmoid(alpha gate), both clamped
};

/// Norms of queries and keys before the rotary embedding.
enum class QueryKeyNorm : uint8_t { none, per_head, full_width };

/// Low-rank queries, keys and values (DeepSeek's MLA): a key is `nope_dim` numbers of its head and
/// `rope_dim` that all heads share.
struct LowRankAttention {
  int64_t query_rank = 0;  ///< 0: queries are not low-rank
  int64_t kv_rank = 0;     ///< 0: ordinary attention
  int64_t nope_dim = 0, rope_dim = 0;
  friend bool operator==(const LowRankAttention&, const LowRankAttention&) = default;
};

/// Epsilon of the norms inside low-rank attention, whatever norm_eps is.
constexpr double kLowRankNormEps = 1e-6;

/// How the experts of a token are chosen and weighted.
enum class Routing : uint8_t {
  softmax_first,  ///< softmax over all, then the best; `renormalise` makes their sum 1
  best_first,     ///< the best, then softmax over them
  sigmoid,        ///< sigmoids; chosen with router_correction added, weighted without (DeepSeek-V3)
};
/// What limits the choice to some groups of experts.
enum class GroupScore : uint8_t { none, largest, two_largest };

struct Experts {
  int64_t count = 0;  ///< 0: no layer has experts
  int64_t active = 0;
  int64_t width = 0;           ///< inner width of one expert
  int64_t shared_width = 0;    ///< of the experts that every token visits; 0: none
  bool shared_router = false;  ///< their output is multiplied by a sigmoid
  Routing routing = Routing::softmax_first;
  bool renormalise = false;
  double scale = 1;  ///< of the weights
  GroupScore group_score = GroupScore::none;
  int64_t groups = 1, best_groups = 1;
  bool router_bias = false, router_correction = false, bias = false;
  friend bool operator==(const Experts&, const Experts&) = default;
};

/// What differs from layer to layer.
struct LayerKind {
  int64_t window = 0;  ///< keys that a query sees, itself included; 0: all
  bool rope = true;
  bool sparse = false;  ///< experts instead of the dense MLP
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// Everything that the decoder needs to know, from config.json or GGUF keys. Both decoders (core,
/// runtime) are driven by this alone.
struct ModelConfig {
  std::string family;
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0;
  int64_t head_dim = 0;   ///< of queries and keys
  int64_t value_dim = 0;  ///< of values; 0: head_dim
  int64_t intermediate = 0;
  int64_t max_positions = 0;
  double norm_eps = 1e-5;
  bool tied_head = false;
  Activation activation = Activation::silu;
  double swiglu_limit = 0, swiglu_alpha = 0;

  bool norm_plus_one = false;               ///< norms multiply by 1 + w
  bool pre_norm = true, post_norm = false;  ///< of each half layer: its input, its output

  Rope rope;
  std::optional<Rope> local_rope;  ///< of layers with a window, where it differs
  double score_scale = 0;          ///< of q k; 0: 1 / sqrt(head_dim)
  double score_cap = 0;            ///< c tanh(s / c) on scores; 0: none
  double clip_qkv = 0;             ///< clamp of q, k and v; 0: none
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  bool qkv_bias = false, output_bias = false, mlp_bias = false, sinks = false;
  LowRankAttention low_rank;

  std::vector<LayerKind> kinds;  ///< one per layer; empty: all alike
  Experts experts;
  int64_t extra_layers = 0;  ///< layers after the last that predict further tokens: not run

  double embedding_scale = 1, residual_scale = 1;
  double logit_divisor = 1, logit_cap = 0;

  const Architecture& architecture() const;
  LayerKind kind(int layer) const {
    return kinds.empty() ? LayerKind() : kinds[static_cast<std::size_t>(layer)];
  }
  const Rope& rope_of(int layer) const {
    return local_rope && kind(layer).window > 0 ? *local_rope : rope;
  }
  /// Dimensions of a head that turn.
  int64_t rope_dims(const Rope& of) const;
  int64_t values_dim() const { return value_dim > 0 ? value_dim : head_dim; }
  double attention_scale() const;
  bool is_low_rank() const { return low_rank.kv_rank > 0; }
  /// The shape that a weight must have, outermost first.
  std::vector<int64_t> shape_of(Role role) const;
  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// Every weight of a model in the order in which it runs; a tied head has none of its own.
std::vector<WeightId> weight_ids(const ModelConfig& config);
/// The weights of a layer.
std::vector<WeightId> layer_weight_ids(const ModelConfig& config, int layer);

/// The matrices of a layer that share their input, in the order in which a block runs: {q, k, v},
/// {o}, {gate, up}, {down}; each expert's are groups of their own.
std::vector<std::vector<WeightId>> input_groups(const ModelConfig& config, int layer);

/// Reads a Hugging Face config.json: every key is used, known to be without effect, or reported by
/// name (Fault::data when it would change the result, a line in `notes` otherwise). Both v4 and v5
/// rope spellings.
ModelConfig config_from_json(std::string_view json, std::vector<std::string>* notes = nullptr);
/// The config.json of `config`. If `original_json` is not empty it is patched (all other keys
/// stay), else written new.
std::string config_to_json(const ModelConfig& config, std::string_view original_json = {});

}  // namespace cupel::format
