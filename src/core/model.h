// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "format/checkpoint.h"

namespace cupel::core {

// Axes: n sequences, t tokens, h hidden, o outputs, i inputs, v vocabulary.

struct ModelOptions {
  /// Weights are rounded to this type after reading ("float32" leaves them); the arithmetic is in
  /// `compute`.
  at::ScalarType weights = at::kFloat;
  at::ScalarType compute = at::kFloat;
  at::Device device = at::kCPU;
};

/// Weights of one decoder layer, in `compute` type on the device. Matrices are [o, i], all others
/// [i]. Which roles exist is the configuration's matter (format::layer_weight_ids).
class LayerWeights {
 public:
  /// Undefined while it is not set.
  at::Tensor& of(format::Role role, int expert = -1) { return tensors_[{role, expert}]; }
  /// Fault::internal for a weight that is not there.
  const at::Tensor& of(format::Role role, int expert = -1) const;
  /// How the matrix's input is rounded; null: not at all.
  std::shared_ptr<const format::RoundedInput> input_of(format::Role role, int expert = -1) const;
  void set_input(format::Role role, int expert, std::shared_ptr<const format::RoundedInput> input);
  int64_t bytes() const;

 private:
  std::map<std::pair<format::Role, int>, at::Tensor> tensors_;
  std::map<std::pair<format::Role, int>, std::shared_ptr<const format::RoundedInput>> inputs_;
};

/// Called with the input of each group of matrices that share it (format::input_groups), x [.., i],
/// and the group's first weight. False: the rest of the block is not wanted.
using Tap = std::function<bool(const format::WeightId& first, const at::Tensor& x_i)>;

/// Called with each matrix of a layer, its input x [.., i] and its output y [.., o] before any
/// bias; what it returns takes the output's place.
using ProductHook = std::function<at::Tensor(const format::WeightId& matrix, const at::Tensor& x_i,
                                             const at::Tensor& y_o)>;

/// Keys and values of earlier positions of a batch, one pair per layer, [n, kv_heads, t, head_dim];
/// grows by forward.
struct KvCache {
  std::vector<at::Tensor> keys, values;
  int64_t length = 0;
};

/// Cosines and sines [positions, pairs] float32 of one rotary embedding.
struct RopeTable {
  at::Tensor cosine, sine;
  int64_t length = 0;  ///< the longest sequence that it was made for, where that matters
};

/// Gives a replaced weight again, float32 [o, i] on the host; must not refer to the model.
using WeightSource = std::function<at::Tensor()>;

/// A decoder in LibTorch, driven by the architecture table. Weights are plain tensors: methods read
/// and replace them. Copies share tensors (clone() does not). Layers load at first use, from the
/// checkpoint or from the source of what replaced a weight; evict() lets them go again, so that a
/// model larger than memory can be walked block by block. Not thread-safe.
class Model {
 public:
  Model(std::shared_ptr<const format::Checkpoint> source, const ModelOptions& options);
  /// A new model with weights drawn from N(0, 0.02^2) (norms are 1; output and down are scaled by
  /// 1/sqrt(2 layers)): the start of training.
  static Model random(const format::ModelConfig& config, const ModelOptions& options,
                      uint64_t seed);
  Model clone() const;

  const format::ModelConfig& config() const { return config_; }
  const ModelOptions& options() const { return options_; }
  int layers() const { return static_cast<int>(config_.layers); }

  LayerWeights& layer(int index);
  at::Tensor& embedding();   ///< [v, h]
  at::Tensor& final_norm();  ///< [h]
  at::Tensor& head();        ///< [v, h]; the embedding itself when tied
  at::Tensor& weight(format::WeightId id);
  /// Moves and casts `value`. evict() keeps a weight that was changed so, unless `again` can give
  /// the same value once more; edits through layer() are lost then.
  void set_weight(format::WeightId id, at::Tensor value, WeightSource again = {});
  /// From now on the matrix reads T^-1 Q(T x) instead of x; no rounding: x again. An embedding that
  /// is no head is only looked up: Fault::internal.
  void set_input(format::WeightId id, const format::RoundedInput& input);
  /// Null: it reads x as it is. Loads no weight.
  std::shared_ptr<const format::RoundedInput> input_of(format::WeightId id) const;
  /// The weight; if it is not in memory it is read for the caller alone, and nothing else is.
  at::Tensor peek(format::WeightId id);
  /// Every weight once (a tied head is the embedding), with its canonical name: embedding, layers,
  /// norm, head. Loads everything.
  std::vector<std::pair<std::string, at::Tensor>> named_weights();
  /// Lets go of what can be had again of a layer, or (-1) of embedding, final norm and head.
  void evict(int layer);
  /// Of the weights that are in memory.
  int64_t resident_bytes() const;

  /// Token ids [n, t] (int64) to x [n, t, h].
  at::Tensor embed(const at::Tensor& ids_nt);
  /// One decoder layer; causal within the sequence. With a cache, x holds the positions after
  /// cache->length. Undefined if the tap stopped it.
  at::Tensor block(int index, const at::Tensor& x_nth, const Tap& tap = {},
                   KvCache* cache = nullptr, const ProductHook& product = {});
  /// The final norm: what the head reads.
  at::Tensor normalized(const at::Tensor& x_nth);
  /// Final norm and head: x [.., h] to logits [.., v].
  at::Tensor logits(const at::Tensor& x_nth);
  /// All of it. `cache` grows by t.
  at::Tensor forward(const at::Tensor& ids_nt, KvCache* cache = nullptr);

  /// Takes `removed` layers out and renumbers the rest; config().layers follows. Indices must be
  /// valid and distinct.
  void remove_layers(const std::vector<int>& removed);

 private:
  using Slot = std::pair<format::Role, int>;  ///< role and expert
  /// Weights that are not the checkpoint's any more; an empty source: only memory holds it.
  using Replaced = std::map<Slot, WeightSource>;
  void load_layer(int index);
  /// From the checkpoint or its source; the layer is ours.
  at::Tensor load(format::WeightId id) const;
  std::string source_name(format::WeightId id) const;
  /// Whether the weight is still that of the checkpoint.
  bool is_from_source(format::WeightId id) const;
  /// Whether the head is the weight `id`.
  bool is_head(format::WeightId id) const {
    return id.role == (config_.tied_head ? format::Role::embedding : format::Role::head);
  }
  std::shared_ptr<const format::RoundedInput> load_input(format::WeightId id) const;
  /// Where a weight lies, loaded or not.
  at::Tensor& slot(format::WeightId id);
  const Replaced& replaced(int layer) const {
    return replaced_[static_cast<std::size_t>(layer + 1)];
  }
  const RopeTable& rope_table(int layer, int64_t positions);
  Model(const format::ModelConfig& config, const ModelOptions& options);
  format::ModelConfig config_;
  ModelOptions options_;
  std::shared_ptr<const format::Checkpoint> source_;  ///< null for a model that was made here
  std::vector<LayerWeights> layers_;
  std::vector<int> source_layer_;   ///< layer of the checkpoint behind each of ours
  std::vector<Replaced> replaced_;  ///< of layer i at i + 1; embedding, norm and head come first
  at::Tensor embedding_, final_norm_, head_;
  std::shared_ptr<const format::RoundedInput> head_input_;
  RopeTable rope_, local_rope_;  ///< grown on demand
};

/// "float32", "bfloat16", "float16" to the type; Fault::user otherwise.
at::ScalarType scalar_type(std::string_view name);
std::string_view scalar_type_name(at::ScalarType type);
/// "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1". Fault::environment when there is no
/// such device.
at::Device device_from_name(std::string_view name);
/// Only kernels that give the same bits in every run, from now on: to be called before a device is
/// used.
void set_deterministic();

}  // namespace cupel::core
