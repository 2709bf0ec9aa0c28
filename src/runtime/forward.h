// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/attention.h"
#include "runtime/experts.h"
#include "runtime/kv_cache.h"
#include "runtime/mlp.h"
#include "runtime/step_context.h"

namespace cupel::runtime {

/// Runs a model over consecutive positions of one sequence or of several at once. What is computed
/// for a position depends on that position, its sequence's length and the cache before it alone,
/// bit for bit: not on the other positions of the step, nor on threads.
class Forward {
 public:
  Forward(const Model& model, ThreadPool& pool);

  /// All layers; the rows of the step are those of its segments, one after another. Writes their
  /// keys and values. Fault::data, with the layer and the position, when a hidden state is not
  /// finite.
  void layers(std::span<const Segment> step);
  /// Logits of rows of the last step, out [rows, vocab]. Fault::data if one is not finite.
  void logits(std::span<const int64_t> rows, float* out);
  /// Positions per step for which the scratch memory stays small.
  int64_t widest_step(int64_t wanted) const;

 private:
  enum class Half { attention, mlp };
  void begin(std::span<const Segment> step);
  void embed();
  void mlp(int64_t layer);
  /// x += what half a layer made of row `row`: its output's bias, norm and scale come first.
  void add(int64_t row, int64_t layer, Half half);

  StepContext c_;
  std::vector<text::Token> ids_t_;
  AttentionStep attention_;
  MlpStep mlp_;
  ExpertStep experts_;
};

}  // namespace cupel::runtime
