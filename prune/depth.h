// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/pruner.h"

namespace cupel::prune {

enum class DepthScore { block_influence };
enum class DepthRepair { none, linear };

struct DepthParams : Params {
  DepthScore score = DepthScore::block_influence;
  int64_t remove = 1;
  bool contiguous = true;
  DepthRepair repair = DepthRepair::linear;
  double damp = 1e-4;
  int64_t protect_first = 1, protect_last = 1;
  void visit(ParamVisitor& v) override;
};

class Depth : public core::Pruner {
 public:
  using Parameters = DepthParams;
  explicit Depth(const DepthParams& params) : params_(params) {}
  core::PrunePlan plan(core::Model& model, const core::Probe& probe) const override;
  int64_t layers_removed(const format::ModelConfig&) const override { return params_.remove; }

 private:
  DepthParams params_;
};

}  // namespace cupel::prune
