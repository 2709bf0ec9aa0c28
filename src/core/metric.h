// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
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
  bool with_moment = false;   ///< whether RowFactor::moment_ii is wanted: as large as the factor
};

/// What an error of one matrix costs, made ready for the engine.
struct PreparedMetric {
  Metric metric;
  std::vector<RowFactor> rows;
  std::shared_ptr<const Factor> outputs;
  at::Tensor shift_ii;  ///< D on the weights' device: what is rounded is W' + W' D; undefined: W'
  std::string note;
  std::string
      fallback;  ///< not empty: what takes its place, and why ("plain rounding: no token ...")
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

/// How the matrices of a group are rounded, and what is to be said of it.
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

/// The same with another code of equal tiles.
inline MetricRounding with_code(const MetricRounding& r, const Code& code) {
  return {.code = code,
          .transform = r.transform,
          .metric = r.metric,
          .feedback = r.feedback,
          .block = r.block,
          .passes = r.passes,
          .with_feedback = r.with_feedback,
          .note = r.note};
}

/// The metric of each matrix of a group: one preparation, one factorisation, where all share it.
/// What it is made from must outlive it.
class GroupMetric {
 public:
  GroupMetric(const MatrixGroup& group, const Stats& stats, const MetricRounding& rounding)
      : group_(group), stats_(stats), rounding_(rounding) {}
  const PreparedMetric& of(std::size_t matrix);

 private:
  const MatrixGroup& group_;
  const Stats& stats_;
  const MetricRounding& rounding_;
  std::optional<PreparedMetric> prepared_;
  std::size_t matrix_ = 0;  ///< that `prepared_` was made for
};

/// What the code is to come near: the weight in the basis of the transform, shifted by the metric.
at::Tensor target_of(const at::Tensor& w_oi, const PreparedMetric& metric,
                     const MetricRounding& rounding);
/// Rounds such a target.
MatrixResult round_target(const std::string& name, const at::Tensor& target_oi,
                          const PreparedMetric& metric, const MetricRounding& rounding);
/// Both, for one matrix.
MatrixResult round_matrix(const std::string& name, const at::Tensor& w_oi,
                          const PreparedMetric& metric, const MetricRounding& rounding);
/// All matrices of the group. Fault::data names a matrix that holds NaN or infinity.
std::vector<MatrixResult> round_group(const MatrixGroup& group, const Stats& stats,
                                      const MetricRounding& rounding);

}  // namespace cupel::core
