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
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "core/activations.h"
#include "core/metrics/list.h"
#include "core/rounded_input.h"
#include "core/transform.h"

namespace cupel::core {
namespace {

/// Sums over tokens in the basis of the transform, float64 on the weights' device.
struct Moments {
  at::Tensor h_ii, c_ii;
};

/// From the inputs themselves, as the multiplication will read them.
Moments rounded_moments(const MetricSource& source) {
  const Stats& stats = source.stats;
  const format::InputTransform& t = source.transform;
  const auto rounding = rounding_for(*source.group.activations, t, stats).rounding;
  const at::Device device = source.group.weights_oi.front().device();
  const int64_t width = stats.inputs.front().size(1);
  const auto options = at::TensorOptions(at::kDouble).device(device);
  Moments m{at::zeros({width, width}, options), at::zeros({width, width}, options)};
  for (std::size_t n = 0; n < stats.inputs.size(); ++n) {
    const at::Tensor now_ti = round_input(rounding, transform_input(t, stats.inputs[n].to(device)));
    const at::Tensor original_ti = transform_input(t, stats.original_inputs[n].to(device));
    m.h_ii.add_(at::matmul(now_ti.t(), now_ti));
    m.c_ii.add_(at::matmul(original_ti.t(), now_ti));
  }
  return m;
}

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
    const Moments m = moments(source);
    PreparedMetric out = activation_metric(source, m.h_ii);
    if (!out.fallback.empty()) return out;
    if (!at::isfinite(m.c_ii).all().item<bool>()) {
      out.fallback = "metric activation: the original's inputs hold NaN or infinity";
      return out;
    }
    const double damp = source.with_feedback ? out.rows.front().factor->damp : source.feedback.damp;
    out.shift_ii = shift(m, damp);
    return out;
  }

 private:
  static Moments moments(const MetricSource& source) {
    const Choice* activations = source.group.activations;
    if (activations && !activation_text(*activations).empty() &&
        !source.stats.original_inputs.empty())
      return rounded_moments(source);
    const at::Tensor c_ii = source.stats.cross_moment_ii;
    return {moment_of(source),
            transform_second_moment(source.transform,
                                    c_ii.to(source.group.weights_oi.front().device()))};
  }

  /// a (C - H) (H + d)^-1. An input that was always zero has no columns in C and H and stays.
  at::Tensor shift(const Moments& m, double damp) const {
    const at::Tensor diagonal_i = m.h_ii.diagonal();
    const double alive = std::max(1.0, (diagonal_i > 0).sum().to(at::kDouble).item<double>());
    const double mean = diagonal_i.sum().item<double>() / alive;
    at::Tensor damped_ii = m.h_ii.clone();
    // Without any damping a singular H has no inverse; this much changes no other.
    damped_ii.diagonal().add_(std::max(damp, 1e-10) * mean);
    const at::Tensor difference_ii = m.c_ii - m.h_ii;
    return strength_ * at::linalg_solve(damped_ii, difference_ii.t()).t();
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
