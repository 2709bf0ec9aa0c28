// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: an error of a weight costs what it changes at the layer's output.
// Formula: tr(dW H dW^T), H = E[x x^T]; scales are weighted by its diagonal, tiles by that of D in
// H = F D F^T, which is what feedback cannot make up for.
// Source: "GPTQ"; "Optimal Brain Surgeon".
// Cost: one factorisation for all matrices that share the input.
// Differs: nothing.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include "core/metrics/list.h"
#include "core/tensor_util.h"
#include "core/transforms/scaling.h"

namespace cupel::core {
namespace {

class None : public MetricProvider {
 public:
  Needs needs() const override { return {}; }
  PreparedMetric prepare(const MetricSource&) const override { return {}; }
};

class Activation : public MetricProvider {
 public:
  Needs needs() const override { return {.second_moment = true}; }
  PreparedMetric prepare(const MetricSource& source) const override {
    return activation_metric(source);
  }
};

/// What an error of each input costs after feedback: the diagonal of D, input by input.
at::Tensor residual_cost(const Factor& factor) {
  at::Tensor cost_i = at::empty({static_cast<int64_t>(factor.inputs.size())}, at::kFloat);
  float* cost = cost_i.mutable_data_ptr<float>();
  for (std::size_t p = 0; p < factor.inputs.size(); ++p)
    cost[factor.inputs[p]] = static_cast<float>(factor.metric[p]);
  return cost_i;
}

}  // namespace

PreparedMetric activation_metric(const MetricSource& source) {
  return activation_metric(source, moment_of(source));
}

PreparedMetric activation_metric(const MetricSource& source, const at::Tensor& h_ii) {
  PreparedMetric out;
  if (source.with_feedback) {
    auto factor = factor_of(h_ii, source.stats.tokens, source, out);
    if (!factor->usable()) return out;
    out.note = describe(*factor);
    if (source.tile_cols == 1) out.metric.tile_i = residual_cost(*factor);
    out.rows = {{.factor = std::move(factor), .moment_ii = {}}};
  } else if (const std::string why = unusable(source.stats, source.stats.second_moment_ii);
             !why.empty()) {
    out.fallback = cat("plain rounding: ", why);
    return out;
  }
  const auto tokens = static_cast<double>(source.stats.tokens);
  if (source.with_feedback && source.with_moment)
    out.rows.front().moment_ii = (h_ii / tokens).to(at::kFloat);
  out.metric.weight = host_float(h_ii.diagonal() / tokens).clamp_min(0).contiguous();
  return out;
}

std::unique_ptr<const MetricProvider> make_none_metric(const NoneMetricParams&) {
  return std::make_unique<None>();
}
std::unique_ptr<const MetricProvider> make_activation_metric(const ActivationMetricParams&) {
  return std::make_unique<Activation>();
}

}  // namespace cupel::core
