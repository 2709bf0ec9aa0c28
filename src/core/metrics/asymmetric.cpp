// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: a layer may make up for what the layers before it have lost: aim at the original's output.
// Formula: E|W x - V x~|^2, x as the original gives it, x~ as the quantized model does, rounded if
// the step rounds inputs: the activation metric of x~ with the target W + a W (C - H) (H + d)^-1,
// H = E[x~ x~^T], C = E[x x~^T], d the factor's damping.
// Source: "GPTAQ: Efficient Finetuning-Free Quantization for Asymmetric Calibration".
// Cost: the original beside the quantized model, each block run twice; one solve for a group.
// Differs: the target moves as a whole, not column by column: the same minimum; `strength` is a.
#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>

#include "core/activations.h"
#include "core/input_moments.h"
#include "core/metrics/list.h"
#include "core/transform.h"

namespace cupel::core {
namespace {

class Asymmetric : public MetricProvider {
 public:
  explicit Asymmetric(const AsymmetricMetricParams& params) : strength_(params.strength) {}
  Needs needs() const override { return {.second_moment = true, .cross_moment = true}; }

  PreparedMetric prepare(const MetricSource& source) const override {
    const Stats& stats = source.stats;
    if (!stats.cross_moment_ii.defined()) {
      PreparedMetric plain = activation_metric(source, moment_of(source));
      if (plain.fallback.empty())
        plain.fallback = "metric activation: the original's inputs at its tokens are not known";
      return plain;
    }
    const InputMoments m = moments(source);
    PreparedMetric out = activation_metric(source, m.zz_ii);
    if (!out.fallback.empty()) return out;
    if (!at::isfinite(m.rz_ii).all().item<bool>()) {
      out.fallback = "metric activation: the original's inputs hold NaN or infinity";
      return out;
    }
    const double damp = source.with_feedback ? out.rows.front().factor->damp : source.feedback.damp;
    out.shift_ii = strength_ * regression_shift(m.rz_ii, m.zz_ii, damp);
    return out;
  }

 private:
  /// r is what the original's inputs are more than these.
  static InputMoments moments(const MetricSource& source) {
    const Choice* activations = source.group.activations;
    const Stats& stats = source.stats;
    const at::Device device = source.group.weights_oi.front().device();
    if (activations && !activation_text(*activations).empty() && !stats.original_inputs.empty())
      return input_moments(
          stats,
          {.transform = source.transform,
           .rounding = rounding_for(*activations, source.transform, stats).rounding},
          Reference::original, device);
    const at::Tensor h_ii = moment_of(source);
    const at::Tensor c_ii =
        transform_second_moment(source.transform, stats.cross_moment_ii.to(device));
    return {.tokens = stats.tokens, .zz_ii = h_ii, .rz_ii = c_ii - h_ii, .rr_ii = {}};
  }

  double strength_;
};

}  // namespace

void AsymmetricMetricParams::visit(ParamVisitor& v) {
  v.field("strength", strength, "share of the way from the weight to the best target").in(0, 1);
}

std::unique_ptr<const MetricProvider> make_asymmetric_metric(const AsymmetricMetricParams& params) {
  return std::make_unique<Asymmetric>(params);
}

}  // namespace cupel::core
