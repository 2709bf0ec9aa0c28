// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: outputs matter to the loss together, as inputs do; feed errors back along both.
// Formula: tr(G dW H dW^T), G = E[g g^T] of the output's gradient, H = E[x x^T] (Kronecker).
// Source: "Yet Another Quantization Algorithm" (YAQA), sketch A without power iterations.
// Cost: one backward pass; a factorisation of each output moment.
// Differs: outputs are fed back in tiles of 16, in their natural order.
#include <ATen/TensorOperators.h>

#include "core/metrics/list.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

class TwoSided : public MetricProvider {
 public:
  explicit TwoSided(const TwoSidedMetricParams& params) : damp_(params.output_damp) {}
  Needs needs() const override { return {.second_moment = true}; }
  GradientNeeds gradient_needs() const override { return {.output_moment = true}; }

  PreparedMetric prepare(const MetricSource& source) const override {
    PreparedMetric out = activation_metric(source);
    const GradientStats* g = source.group.gradient(source.matrix);
    if (!g || !g->output_moment_oo.defined() || !g->finite()) {
      if (out.fallback.empty())
        out.fallback = "metric activation: no gradient of the loss reached it";
      return out;
    }
    if (!source.with_feedback) return out;
    auto outputs = std::make_shared<const Factor>(factorise(
        g->output_moment_oo, g->tokens, 1, {.order = FeedbackOrder::natural, .damp = damp_}));
    if (!outputs->usable() && out.fallback.empty())
      out.fallback = cat("metric activation: ", outputs->failure, " (of its output's gradient)");
    out.outputs = std::move(outputs);
    return out;
  }

 private:
  double damp_;
};

}  // namespace

void TwoSidedMetricParams::visit(ParamVisitor& v) {
  v.field("output_damp", output_damp,
          "share of the mean diagonal of the output moment that is added to it")
      .in(0, 1);
}

std::unique_ptr<const MetricProvider> make_two_sided_metric(const TwoSidedMetricParams& params) {
  return std::make_unique<TwoSided>(params);
}

}  // namespace cupel::core
