// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/mlp.h"

#include "base/error.h"

namespace cupel::runtime {

using format::Activation;

void MlpStep::activate(const Model::Mlp& mlp, float* gate, float* up, int64_t n) const {
  const auto& config = c_.config;
  add_bias(gate, mlp.gate_bias);
  add_bias(up, mlp.up_bias);
  switch (config.activation) {
    case Activation::silu:
      return c_.cpu.silu_mul(gate, up, n);
    case Activation::gelu_tanh:
      return c_.cpu.gelu_tanh_mul(gate, up, n);
    case Activation::gelu:
      return c_.cpu.gelu_mul(gate, up, n);
    case Activation::clamped_swiglu:
      return c_.cpu.clamped_swiglu(gate, up, n, static_cast<float>(config.swiglu_alpha),
                                   static_cast<float>(config.swiglu_limit));
  }
  fail(Fault::internal, "an activation without kernel");
}

void MlpStep::run(float* x, std::span<const MlpGroup> groups, const Produce& produce, float* out) {
  const int64_t width = groups[0].mlp->gate.rows, hidden = groups[0].mlp->gate.cols;
  mlp_of_row_.clear();
  for (const auto& [mlp, rows] : groups)
    mlp_of_row_.insert(mlp_of_row_.end(), static_cast<std::size_t>(rows), mlp);
  const auto m = static_cast<int64_t>(mlp_of_row_.size());
  float* gate = gate_ti_.reserve(m * width);
  float* up = up_ti_.reserve(m * width);

  // Both lists are sized first: groups view into outputs.
  outputs_.resize(2 * groups.size());
  linear_groups_.resize(groups.size());
  int64_t row = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Model::Mlp& mlp = *groups[g].mlp;
    outputs_[2 * g] = {&mlp.gate, gate + row * width};
    outputs_[2 * g + 1] = {&mlp.up, up + row * width};
    linear_groups_[g] = {groups[g].rows, mlp.in, std::span(outputs_).subspan(2 * g, 2)};
    row += groups[g].rows;
  }
  c_.linear.run(x, linear_groups_, produce);

  row = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    outputs_[g] = {&groups[g].mlp->down, out + row * hidden};
    linear_groups_[g] = {groups[g].rows, groups[g].mlp->down_in, std::span(outputs_).subspan(g, 1)};
    row += groups[g].rows;
  }
  c_.linear.run(gate, linear_groups_, [&](int64_t r) {
    activate(*mlp_of_row_[static_cast<std::size_t>(r)], gate + r * width, up + r * width, width);
  });
}

}  // namespace cupel::runtime
