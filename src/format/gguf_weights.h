// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "format/gguf.h"
#include "format/model_config.h"

/// The weights of a GGUF model in canonical form. Internal to this module.
namespace cupel::format {

class GgufWeights {
 public:
  /// Finds every weight of `config`. Fault::data names a tensor that is missing, has a wrong shape
  /// or no decoder, and one that is not part of the model. `extra_layers` blocks behind the last
  /// predict further tokens: a note. Keeps references.
  GgufWeights(const GgufFile& file, const ModelConfig& config, int64_t extra_layers,
              std::vector<std::string>& notes);

  /// As Checkpoint::read(), without the check for values that are not finite.
  void read(WeightId id, std::span<float> out) const;
  std::string stored_as(WeightId id) const;
  /// Bytes of the weight's share of its tensor.
  int64_t bytes(WeightId id) const;
  const std::set<const TensorEntry*>& used() const { return used_; }

 private:
  /// Where a weight lies: rows from `begin` on in slab `slab` of a tensor.
  struct Place {
    const TensorEntry* tensor = nullptr;
    int64_t slab = 0, slabs = 1, begin = 0;
    const TensorEntry* values = nullptr;  ///< kv_b in two tensors: `tensor` holds the keys
  };

  Place find(WeightId id) const;
  Place find_fused(WeightId id) const;
  Place find_split_kv_b(WeightId id) const;
  const TensorEntry* named(const char* pattern, WeightId id) const;
  void check_shape(const TensorEntry& t, std::vector<int64_t> shape) const;
  void check_rest(int64_t extra_layers, std::vector<std::string>& notes) const;
  void read_rows(const Place& place, WeightId id, std::span<float> out) const;
  void read_split_kv_b(const Place& place, std::span<float> out) const;

  const GgufFile& file_;
  const ModelConfig& config_;
  std::map<WeightId, Place> places_;
  std::set<const TensorEntry*> used_;
};

}  // namespace cupel::format
