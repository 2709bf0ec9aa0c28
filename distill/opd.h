// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/train/trainable.h"
#include "distill/divergence.h"
#include "distill/rollout.h"
#include "distill/schedule.h"
#include "distill/teacher.h"
#include "distill/weighting.h"

namespace cupel::distill {

/// The parts that make a distillation system: one member of each interface. Not owned.
struct Objective {
  const RolloutSource& source;
  TeacherSignal& teacher;
  const Divergence& divergence;
  const std::vector<const TokenWeighting*>& tokens;
  const DomainWeighting& domains;
};

/// One rollout's loss, the weighted mean of the divergence over all counted positions, with its
/// gradients added to the student's weights. `micro_batch` sequences are in memory at once; the
/// denominator is that of the whole rollout.
core::train::StepResult distill_gradients(const Objective& objective, core::Model& student,
                                          const Rollout& rollout, int64_t micro_batch);

enum class TrainedPart { full, norms };

struct OpdParams : Params {
  int64_t steps = 100, batch = 8, micro_batch = 0;
  RolloutParams rollout;
  Choice divergence;
  TrainedPart train = TrainedPart::full;
  core::train::AdamWParams adamw;
  OpdParams();
  void visit(ParamVisitor& v) override;
};

class Opd : public core::train::Trainable {
 public:
  using Parameters = OpdParams;
  explicit Opd(const OpdParams& params) : params_(params) {}
  void run(core::train::TrainContext& context) const override;
  bool needs_teacher() const override { return true; }
  int64_t steps() const override { return params_.steps; }

 private:
  OpdParams params_;
};

}  // namespace cupel::distill
