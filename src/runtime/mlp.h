// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/step_context.h"

namespace cupel::runtime {

/// Consecutive rows of an input and the gated MLP that they visit.
struct MlpGroup {
  const Model::Mlp* mlp;
  int64_t rows;
};

/// Gated MLPs: out = down(activation(gate x) * up x), the bias of down excepted, which is left to
/// whoever adds the rows up.
class MlpStep {
 public:
  explicit MlpStep(StepContext& context) : c_(context) {}
  /// x [rows, hidden] (written by `produce`, transformed afterwards), out [rows, hidden]; all MLPs
  /// have one inner width. No group is empty.
  void run(float* x, std::span<const MlpGroup> groups, const Produce& produce, float* out);

 private:
  void activate(const Model::Mlp& mlp, float* gate, float* up, int64_t n) const;

  StepContext& c_;
  Buffer<float> gate_ti_, up_ti_;
  std::vector<LinearOutput> outputs_;
  std::vector<LinearGroup> linear_groups_;
  std::vector<const Model::Mlp*> mlp_of_row_;
};

}  // namespace cupel::runtime
