// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/metric.h"

#include <c10/core/GradMode.h>

#include <optional>

#include "base/error.h"
#include "core/metrics/list.h"
#include "core/tensor_util.h"
#include "core/transform.h"

namespace cupel::core {

FeedbackPlan PreparedMetric::plan(FeedbackBlock block, int passes) const {
  const bool descends = passes > 0 && moment_ii.defined();
  return {.rows = rows,
          .outputs = outputs.get(),
          .block = block,
          .passes = descends ? passes : 0,
          .moment_ii = descends ? &moment_ii : nullptr};
}

const std::vector<Alternative>& metric_alternatives() {
  static const std::vector<Alternative> list = {
      {"none", "every error counts the same", [] { return std::make_shared<NoneMetricParams>(); }},
      {"activation", "the second moment of the input: the error of the layer's output",
       [] { return std::make_shared<ActivationMetricParams>(); }},
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
  if (choice.name == "fisher") return make_fisher_metric(choice.as<FisherMetricParams>());
  if (choice.name == "guided") return make_guided_metric(choice.as<GuidedMetricParams>());
  if (choice.name == "two-sided") return make_two_sided_metric(choice.as<TwoSidedMetricParams>());
  fail(Fault::internal, "the metric '", choice.name, "' is in the list of a recipe alone");
}

std::shared_ptr<const Factor> factor_of(const at::Tensor& h_ii, int64_t tokens,
                                        const MetricSource& source, PreparedMetric& out) {
  auto factor =
      std::make_shared<const Factor>(factorise(h_ii, tokens, source.tile_cols, source.feedback));
  out.factors.push_back(factor);
  if (!factor->usable() && out.fallback.empty()) out.fallback = factor->failure;
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

std::vector<MatrixResult> round_group(const MatrixGroup& group, const Stats& stats,
                                      const MetricRounding& r) {
  const c10::NoGradGuard no_grad;
  inputs_of(group);
  for (std::size_t m = 0; m < group.names.size(); ++m)
    check_finite(group.names[m], group.weights_oi[m]);
  std::vector<MatrixResult> results;
  std::optional<PreparedMetric> prepared;
  for (std::size_t m = 0; m < group.names.size(); ++m) {
    MatrixResult result;
    result.code = in_frame(cat("rounding ", group.names[m]), [&] {
      // Metrics that know the gradients differ from matrix to matrix, all others are the group's.
      if (!prepared || r.metric.gradient_needs().any())
        prepared = r.metric.prepare({.group = group,
                                     .matrix = m,
                                     .stats = stats,
                                     .transform = r.transform,
                                     .tile_cols = r.code.tile().cols,
                                     .feedback = r.feedback,
                                     .with_feedback = r.with_feedback});
      FeedbackPlan plan = prepared->plan(r.block, r.passes);
      if (plan.rows.empty() || !r.with_feedback)
        plan.rows = {{0, group.weights_oi[m].size(0), nullptr}};
      for (RowFactor& rows : plan.rows) {
        if (rows.factor && !rows.factor->usable()) rows.factor = nullptr;
        if (rows.end < 0) rows.end = group.weights_oi[m].size(0);
      }
      if (plan.outputs && !plan.outputs->usable()) plan.outputs = nullptr;
      return encode(r.code, transform_weight(r.transform, group.weights_oi[m]), prepared->metric,
                    plan);
    });
    result.code.input = r.transform;
    if (!prepared->fallback.empty()) result.fallback = cat("plain rounding: ", prepared->fallback);
    result.note = prepared->note;
    if (!r.note.empty()) result.note += cat(result.note.empty() ? "" : ", ", r.note);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace cupel::core
