// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/linear_step.h"
#include "runtime/model.h"

namespace cupel::runtime {

class KvCache;

/// Where a row of a step stands: the cache of its sequence, and its position there.
struct StepRow {
  KvCache* cache = nullptr;
  int64_t position = 0;
};

/// What the parts of a forward pass share, and the rows that they hand on (legend: t positions of
/// the step, i inputs).
struct StepContext {
  StepContext(const Model& the_model, ThreadPool& the_pool)
      : model(the_model),
        config(model.config()),
        cpu(model.cpu()),
        pool(the_pool),
        linear(cpu, pool, model.options().activations == Activations::exact) {}

  const Model::Layer& layer(int64_t l) const { return model.layers()[static_cast<std::size_t>(l)]; }
  /// out = the norm of x; a copy where there is none.
  void norm(const float* x, const std::vector<float>& weight, float* out) const {
    if (weight.empty())
      std::copy_n(x, config.hidden, out);
    else
      cpu.rms_norm(x, weight.data(), static_cast<float>(config.norm_eps), out, config.hidden);
  }

  const Model& model;
  const format::ModelConfig& config;
  const kernels::CpuKernels& cpu;
  ThreadPool& pool;
  LinearStep linear;
  int64_t m = 0;  ///< rows of the step
  std::vector<StepRow> rows;
  /// Residual stream; what a linear layer reads; what a half layer adds.
  Buffer<float> x_ti, h_ti, d_ti;
};

/// y += bias; nothing for an empty bias.
inline void add_bias(float* y, const std::vector<float>& bias) {
  for (std::size_t i = 0; i < bias.size(); ++i) y[i] += bias[i];
}

}  // namespace cupel::runtime
