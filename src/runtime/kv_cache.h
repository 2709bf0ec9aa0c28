// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/architecture.h"
#include "kernels/cpu.h"
#include "runtime/session.h"

namespace cupel::runtime {

/// Keys and values of one sequence. Each layer's keys, and its values, are one contiguous range of
/// addresses [context, kv_heads, one head as kernels/kv_row.h stores it]; the operating system
/// gives them memory page by page when positions are first written. Low-rank keys and values are
/// stored expanded.
class KvCache {
 public:
  /// Fault::user for a context whose addresses cannot be reserved; the message names its size.
  KvCache(const format::ModelConfig& config, KvType type, int64_t context);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  kernels::KvView view(int64_t layer) const;
  /// Keys [kv_heads, head_dim] and values [kv_heads, value_dim] of one position.
  void store(const kernels::CpuKernels& cpu, int64_t layer, int64_t position, const float* key,
             const float* value);
  /// Takes over a layer's positions before `end` from another cache of the same model and type.
  void copy(int64_t layer, const KvCache& from, int64_t end);
  int64_t context() const { return context_; }
  /// Whether queries and keys are to go through a Hadamard transform of the head's width first:
  /// their products stay, and no dimension of a key sets the step of the others any more (QuaRot:
  /// Outlier-Free 4-Bit Inference in Rotated LLMs). Not for fp8, whose step follows each number. A
  /// head whose width has no such matrix stays as it is.
  bool mixes_keys() const { return type_ == KvType::int8 || type_ == KvType::int4; }
  int64_t position_bytes() const;  ///< of one position, all layers
  /// What a step that looks back over `positions` reads.
  int64_t bytes_read(int64_t positions) const;
  /// Memory that `positions` take, whole pages.
  int64_t bytes_held(int64_t positions) const;

 private:
  struct Plane {
    int64_t dim = 0;                   // of one head
    int64_t row_bytes = 0, bytes = 0;  // of a position, of the context in whole pages
  };
  Plane plane_of(int64_t dim) const;
  int64_t layer_bytes() const { return keys_.bytes + values_.bytes; }
  std::byte* keys(int64_t layer) const { return base_ + layer * layer_bytes(); }
  std::byte* values(int64_t layer) const { return keys(layer) + keys_.bytes; }
  void store(const kernels::CpuKernels& cpu, const Plane& plane, const float* from,
             std::byte* to) const;

  KvType type_;
  int64_t context_, kv_heads_, page_bytes_;
  std::vector<int64_t> windows_;  // of each layer; 0: none
  Plane keys_, values_;
  std::byte* base_ = nullptr;
};

}  // namespace cupel::runtime
