// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/kv_cache.h"
#include "runtime/linear_step.h"
#include "runtime/model.h"

namespace cupel::runtime {

/// Runs a model over consecutive positions of one sequence (legend: t positions of the step, i
/// inputs, h heads). What is computed for a position depends on that position and the cache before
/// it alone, bit for bit: not on the other positions of the step, nor on threads.
class Forward {
 public:
  Forward(const Model& model, KvCache& cache, ThreadPool& pool);

  /// All layers for `ids` at positions `first`..; writes their keys and values. Fault::data, with
  /// the layer and the position, when a hidden state is not finite.
  void layers(std::span<const text::Token> ids, int64_t first);
  /// Logits of positions row .. row + count of the last step, out [count, vocab]. Fault::data if
  /// one is not finite.
  void logits(int64_t row, int64_t count, float* out);
  /// Positions per step for which the scratch memory stays small.
  int64_t widest_step(int64_t wanted) const;

 private:
  struct Sizes {
    int64_t hidden, query, key, intermediate;
    int64_t widest() const { return std::max(hidden, query); }
  };
  void reserve(int64_t m);
  void embed(std::span<const text::Token> ids);
  void attention_inputs(int64_t layer);
  void attend(int64_t layer);
  void mlp(int64_t layer);
  /// x += delta in row `row`; `part` names what made delta.
  void add(int64_t row, int64_t layer, const char* part);
  void angles(int64_t first, int64_t m);

  const Model& model_;
  const format::ModelConfig& config_;
  const kernels::CpuKernels& cpu_;
  KvCache& cache_;
  ThreadPool& pool_;
  LinearStep step_;
  Sizes size_;
  std::vector<double> frequencies_;
  int64_t m_ = 0, first_ = 0;
  // x: residual stream; h: what a linear layer reads; d: what a half layer adds.
  Buffer<float> x_ti_, h_ti_, d_ti_, q_th_, k_th_, v_th_, gate_ti_, up_ti_, cosine_t_, sine_t_;
};

}  // namespace cupel::runtime
