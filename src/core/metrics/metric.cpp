// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/metric.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "core/metrics/list.h"
#include "core/tensor_util.h"
#include "core/transform.h"

namespace cupel::core {

const std::vector<Alternative>& metric_alternatives() {
  static const std::vector<Alternative> list = {
      {"none", "every error counts the same", [] { return std::make_shared<NoneMetricParams>(); }},
      {"activation", "the second moment of the input: the error of the layer's output",
       [] { return std::make_shared<ActivationMetricParams>(); }},
      {"asymmetric",
       "the error against the original's output, from the quantized model's input (GPTAQ)",
       [] { return std::make_shared<AsymmetricMetricParams>(); }},
      {"fisher", "the squared gradient of each weight",
       [] { return std::make_shared<FisherMetricParams>(); }},
      {"guided", "second moments weighted by output gradients, per group of outputs (GuidedQuant)",
       [] { return std::make_shared<GuidedMetricParams>(); }},
      {"two-sided", "second moments of the input and of the output's gradient (YAQA)",
       [] { return std::make_shared<TwoSidedMetricParams>(); }},
  };
  return list;
}

std::unique_ptr<const MetricProvider> make_metric(const Choice& choice) {
  if (choice.name == "none") return make_none_metric(choice.as<NoneMetricParams>());
  if (choice.name == "activation")
    return make_activation_metric(choice.as<ActivationMetricParams>());
  if (choice.name == "asymmetric")
    return make_asymmetric_metric(choice.as<AsymmetricMetricParams>());
  if (choice.name == "fisher") return make_fisher_metric(choice.as<FisherMetricParams>());
  if (choice.name == "guided") return make_guided_metric(choice.as<GuidedMetricParams>());
  if (choice.name == "two-sided") return make_two_sided_metric(choice.as<TwoSidedMetricParams>());
  fail(Fault::internal, "the metric '", choice.name, "' is in the list of a recipe alone");
}

std::shared_ptr<const Factor> factor_of(const at::Tensor& h_ii, int64_t tokens,
                                        const MetricSource& source, PreparedMetric& out) {
  auto factor =
      std::make_shared<const Factor>(factorise(h_ii, tokens, source.tile_cols, source.feedback));
  if (!factor->usable() && out.fallback.empty())
    out.fallback = cat("plain rounding: ", factor->failure);
  return factor;
}

std::string describe(const Factor& factor) {
  if (!factor.usable()) return {};
  return cat("damping ", factor.damp,
             factor.dead > 0 ? cat(", ", factor.dead, " inputs always zero") : "");
}

at::Tensor moment_of(const MetricSource& source) {
  if (source.stats.tokens <= 0) return {};
  return transform_second_moment(
      source.transform, source.stats.second_moment_ii.to(source.group.weights_oi.front().device()));
}

const PreparedMetric& GroupMetric::of(std::size_t matrix) {
  // Metrics that know gradients differ from matrix to matrix; all others are the group's.
  const bool shared = !rounding_.metric.gradient_needs().any();
  if (prepared_ && (shared || matrix == matrix_)) return *prepared_;
  matrix_ = matrix;
  prepared_ = rounding_.metric.prepare({.group = group_,
                                        .matrix = matrix,
                                        .stats = stats_,
                                        .transform = rounding_.transform,
                                        .tile_cols = rounding_.code.tile().cols,
                                        .feedback = rounding_.feedback,
                                        .with_feedback = rounding_.with_feedback,
                                        .with_moment = rounding_.passes > 0});
  return *prepared_;
}

at::Tensor target_of(const at::Tensor& w_oi, const PreparedMetric& metric,
                     const MetricRounding& r) {
  const at::Tensor w = transform_weight(r.transform, w_oi);
  if (!metric.shift_ii.defined()) return w;
  return w + at::matmul(w.to(at::kDouble), metric.shift_ii).to(at::kFloat);
}

MatrixResult round_target(const std::string& name, const at::Tensor& target_oi,
                          const PreparedMetric& metric, const MetricRounding& r) {
  MatrixResult result;
  result.code = in_frame(cat("rounding ", name), [&] {
    return encode(
        r.code, target_oi, metric.metric,
        FeedbackPlan{
            .rows = metric.rows, .outputs = metric.outputs, .block = r.block, .passes = r.passes});
  });
  result.code.input = r.transform;
  result.fallback = metric.fallback;
  add_note(result, metric.note);
  add_note(result, r.note);
  return result;
}

MatrixResult round_matrix(const std::string& name, const at::Tensor& w_oi,
                          const PreparedMetric& metric, const MetricRounding& r) {
  return round_target(name, target_of(w_oi, metric, r), metric, r);
}

std::vector<MatrixResult> round_group(const MatrixGroup& group, const Stats& stats,
                                      const MetricRounding& rounding) {
  const c10::NoGradGuard no_grad;
  inputs_of(group);
  check_finite(group);
  GroupMetric metric(group, stats, rounding);
  std::vector<MatrixResult> results;
  for (std::size_t m = 0; m < group.names.size(); ++m)
    results.push_back(round_matrix(group.names[m], group.weights_oi[m], metric.of(m), rounding));
  return results;
}

}  // namespace cupel::core
