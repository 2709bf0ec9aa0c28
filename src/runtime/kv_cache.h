// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/architecture.h"
#include "kernels/cpu.h"
#include "runtime/session.h"

namespace cupel::runtime {

/// Keys and values of one sequence. Each layer's keys, and its values, are one contiguous range of
/// addresses [context, kv_heads, head_dim]; the operating system gives them memory page by page
/// when positions are first written.
class KvCache {
 public:
  /// Fault::user for a context whose addresses cannot be reserved; the message names its size.
  KvCache(const format::ModelConfig& config, KvType type, int64_t context);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  kernels::KvView view(int64_t layer) const;
  /// Keys and values [kv_heads, head_dim] of one position.
  void store(const kernels::CpuKernels& cpu, int64_t layer, int64_t position, const float* key,
             const float* value);
  int64_t context() const { return context_; }
  /// What a step that looks back over `positions` reads.
  int64_t bytes_read(int64_t positions) const;
  /// Memory that `positions` take, whole pages.
  int64_t bytes_held(int64_t positions) const;

 private:
  std::byte* plane(int64_t layer, int64_t which) const {
    return base_ + (2 * layer + which) * plane_bytes_;
  }

  KvType type_;
  int64_t context_, layers_, kv_heads_, head_dim_;
  int64_t row_bytes_ = 0, plane_bytes_ = 0, page_bytes_ = 4096;
  std::byte* base_ = nullptr;
};

}  // namespace cupel::runtime
