// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/train/trainable.h"

namespace cupel::distill {

struct TrainLmParams : Params {
  int64_t steps = 100, batch = 8, length = 256;
  int64_t micro_batch = 0;
  core::train::AdamWParams adamw;
  void visit(ParamVisitor& v) override;
};

class TrainLm : public core::train::Trainable {
 public:
  using Parameters = TrainLmParams;
  explicit TrainLm(const TrainLmParams& params) : params_(params) {}
  void run(core::train::TrainContext& context) const override;
  bool needs_teacher() const override { return false; }
  int64_t steps() const override { return params_.steps; }

 private:
  core::train::StepResult gradients(core::train::TrainContext& context, int64_t step) const;
  TrainLmParams params_;
};

}  // namespace cupel::distill
