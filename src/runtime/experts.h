// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/mlp.h"
#include "runtime/router.h"

namespace cupel::runtime {

/// The MLP half of a sparse layer. Positions of a step are grouped by expert, so that an expert's
/// weights are read once; a position's sum runs over its experts in the order of their indices,
/// then the shared one, whatever else is in the step (legend: t positions, e experts, r visits of a
/// position to an expert, grouped by expert).
class ExpertStep {
 public:
  ExpertStep(StepContext& context, MlpStep& mlp);
  /// `produce` writes rows of h; d becomes what the experts add.
  void run(int64_t layer, const Produce& produce);
  /// Scratch floats for one position, without those of MlpStep.
  int64_t floats() const;

 private:
  void route(int64_t layer, const Produce& produce);
  void group(const Model::Experts& experts);
  void add_up(const Model::Experts& experts, int64_t t);

  StepContext& c_;
  MlpStep& mlp_;
  const format::Experts& config_;
  Router router_;
  Buffer<float> logits_te_, shared_gate_t_, in_ri_, out_ri_, shared_ti_;
  std::vector<Choice> chosen_;              // [t, active]
  std::vector<int64_t> visit_of_choice_;    // [t, active] -> r
  std::vector<int64_t> position_of_visit_;  // r -> t
  std::vector<int64_t> visits_;             // of each expert
  std::vector<MlpGroup> groups_;
};

}  // namespace cupel::runtime
