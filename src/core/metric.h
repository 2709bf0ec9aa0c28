// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "base/params.h"
#include "core/code.h"
#include "core/feedback.h"
#include "core/quantizer.h"

namespace cupel::core {

/// What a metric is made from: matrix `matrix` of a group, rounded in the basis of `transform`.
struct MetricSource {
  const MatrixGroup& group;
  std::size_t matrix;
  const Stats& stats;
  const format::InputTransform& transform;
  int tile_cols = 1;  ///< of the code
  FeedbackOptions feedback;
  bool with_feedback = true;  ///< false: weights of errors are enough
};

/// What an error of one matrix costs, made ready for the engine. Owns what `plan` points to.
struct PreparedMetric {
  Metric metric;
  std::vector<std::shared_ptr<const Factor>> factors;
  at::Tensor moment_ii;  ///< H per token on the host, float32, in the basis of the transform
  std::vector<RowFactor> rows;
  std::shared_ptr<const Factor> outputs;
  std::string note;
  std::string fallback;  ///< not empty: why rounding will be plain
  FeedbackPlan plan(FeedbackBlock block, int passes) const;
};

/// The metric of a layer's errors: what a method minimises. Source of each: its file. Stateless.
class MetricProvider {
 public:
  virtual ~MetricProvider() = default;
  virtual Needs needs() const = 0;
  virtual GradientNeeds gradient_needs() const { return {}; }
  virtual PreparedMetric prepare(const MetricSource& source) const = 0;
};

/// `none`, `activation`, `fisher`, `guided`, `two-sided`: the choices of a recipe's `metric`.
const std::vector<Alternative>& metric_alternatives();
std::unique_ptr<const MetricProvider> make_metric(const Choice& choice);

/// Transforms, prepares and rounds every matrix of the group. Matrices whose metric is the same
/// share one factorisation. Fault::data names a matrix that holds NaN or infinity.
struct MetricRounding {
  const Code& code;
  const format::InputTransform& transform;
  const MetricProvider& metric;
  FeedbackOptions feedback;
  FeedbackBlock block;
  int passes = 0;
  bool with_feedback = true;
  std::string note;
};
std::vector<MatrixResult> round_group(const MatrixGroup& group, const Stats& stats,
                                      const MetricRounding& rounding);

}  // namespace cupel::core
