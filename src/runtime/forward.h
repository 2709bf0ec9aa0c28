// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>

#include "runtime/attention.h"
#include "runtime/experts.h"
#include "runtime/kv_cache.h"
#include "runtime/mlp.h"
#include "runtime/step_context.h"

namespace cupel::runtime {

/// Consecutive positions of a sequence: `first`.. , of one that is `length` long once the call that
/// this step belongs to is done (which is what some rotary embeddings go by).
struct Step {
  std::span<const text::Token> ids;
  int64_t first = 0, length = 0;
};

/// Runs a model over consecutive positions of one sequence. What is computed for a position depends
/// on that position, the step's length and the cache before it alone, bit for bit: not on the other
/// positions of the step, nor on threads.
class Forward {
 public:
  Forward(const Model& model, KvCache& cache, ThreadPool& pool);

  /// All layers; writes the positions' keys and values. Fault::data, with the layer and the
  /// position, when a hidden state is not finite.
  void layers(const Step& step);
  /// Logits of positions row .. row + count of the last step, out [count, vocab]. Fault::data if
  /// one is not finite.
  void logits(int64_t row, int64_t count, float* out);
  /// Positions per step for which the scratch memory stays small.
  int64_t widest_step(int64_t wanted) const;

 private:
  enum class Half { attention, mlp };
  void embed(std::span<const text::Token> ids);
  void mlp(int64_t layer);
  /// x += what half a layer made of row `row`: its output's bias, norm and scale come first.
  void add(int64_t row, int64_t layer, Half half);

  StepContext c_;
  AttentionStep attention_;
  MlpStep mlp_;
  ExpertStep experts_;
};

}  // namespace cupel::runtime
