// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/input_moments.h"
#include "format/weight_code.h"
#include "quant/learned_grid.h"
#include "quant/output_metric.h"

/// Axes: t tokens, o outputs, i inputs, g groups of inputs, d inputs of a group.
namespace cupel::quant {

/// What is learned of a group of matrices that share an input.
struct Learnables {
  bool scaling = true, ranges = true, rounding = true;
};

/// All that is learned at every step, or scaling, ranges and rounding one after the other.
enum class LearningOrder { joint, staged };

struct JointSchedule {
  Learnables learn;
  LearningOrder order = LearningOrder::joint;
  RoundingSchedule rounding;   ///< of the grids; its steps are those of everything
  double scaling_rate = 0.05;  ///< of the logarithm of a scale, at first; falls to zero linearly
};

/// The matrices, and the tokens on which errors are judged.
struct JointProblem {
  std::vector<at::Tensor> w_oi;  ///< that act on x, float32
  std::vector<OutputMetric> outputs;
  at::Tensor own_ti, reference_ti;  ///< inputs; undefined where they are not rounded: then
  at::Tensor second_moment_ii;      ///< their sum of x x^T over `tokens` is enough
  int64_t tokens = 0;
};

/// A basis, and codes in it.
struct JointState {
  format::RoundedInput input;
  std::vector<format::WeightCode> codes;  ///< uniform
};

/// J, the sum over the matrices.
struct JointLoss {
  double before = 0, after = 0;
};

/// Lowers J = sum E[dy^T G dy] / 2 from `state`, codes of plain rounding, over the scales of the
/// inputs before any rotation, the ranges of the weights' groups and the rounding, by gradients
/// that rounding lets pass. Keeps the best that was met. The same bits on any number of threads.
JointLoss learn_jointly(const JointProblem& problem, const JointSchedule& schedule,
                        JointState& state);

}  // namespace cupel::quant
