// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/kv_cache.h"
#include "runtime/rope_table.h"
#include "runtime/step_context.h"

namespace cupel::runtime {

/// Consecutive positions of a sequence: `first`.. , of one that is `length` long once the call that
/// this step belongs to is done (which is what some rotary embeddings go by).
struct Segment {
  std::span<const text::Token> ids;
  KvCache* cache = nullptr;
  int64_t first = 0, length = 0;
  /// Whose first `first` positions this sequence begins with, where its own cache does not hold
  /// them yet: a cache from before, or that of an earlier segment of the same step.
  const KvCache* parent = nullptr;
};

/// The attention half of a layer, without what surrounds it (norms, residual stream); legend:
/// t positions, h heads times dimensions, r ranks.
class AttentionStep {
 public:
  explicit AttentionStep(StepContext& context);

  /// Before the layers of a step.
  void begin(std::span<const Segment> step);
  /// `produce` writes rows of h; d becomes what attention adds, the output's bias excepted.
  void run(int64_t layer, const Produce& produce);
  /// Scratch floats for one position, and the widest input of a linear layer.
  int64_t floats() const;
  int64_t widest() const;

 private:
  void project(int64_t layer, const Produce& produce);
  void project_low_rank(int64_t layer, const Produce& produce);
  void finish(int64_t layer, int64_t t);
  /// Queries turned; keys and values of all heads put together.
  void expand_low_rank(int64_t t, const kernels::Rotation& rotation);
  void norm_heads(float* x, int64_t heads, const std::vector<float>& weight) const;
  void clip(float* x, int64_t n) const;
  void attend(int64_t layer);

  StepContext& c_;
  std::span<const Segment> step_;
  RopeTable rope_;
  std::optional<RopeTable> local_rope_;
  kernels::RowTransform mix_;  // of a head's queries and keys, see KvCache::mixes_keys()
  int64_t query_width_, key_width_, value_width_, output_width_;
  Buffer<float> q_th_, k_th_, v_th_;
  // Low rank: queries, what kv_a gives, its normalised part, what kv_b gives.
  Buffer<float> query_tr_, kv_tr_, latent_tr_, kv_th_;
};

}  // namespace cupel::runtime
