// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: tokens at which the loss reacts to a group of outputs count more for their rows.
// Formula: H_q = sum_t s_tq x_t x_t^T, s_tq the mean of (dL/dy_to)^2 over the outputs of group q.
// Source: "GuidedQuant: Large Language Model Quantization via Exploiting End Loss Guidance".
// Cost: one backward pass; a moment and a factorisation per group and matrix.
// Differs: labels are drawn from the model; gradients are those of the original model.
#include <ATen/TensorOperators.h>

#include "core/metrics/list.h"
#include "core/tensor_util.h"
#include "core/transform.h"

namespace cupel::core {
namespace {

class Guided : public MetricProvider {
 public:
  explicit Guided(const GuidedMetricParams& params) : groups_(params.groups) {}
  Needs needs() const override { return {.second_moment = true}; }
  GradientNeeds gradient_needs() const override { return {.groups = groups_}; }

  PreparedMetric prepare(const MetricSource& source) const override {
    const GradientStats* g = source.group.gradient(source.matrix);
    if (!g || !g->guided_qii.defined() || !g->finite()) {
      PreparedMetric plain = activation_metric(source);
      if (plain.fallback.empty())
        plain.fallback = "metric activation: no gradient of the loss reached it";
      return plain;
    }
    PreparedMetric out;
    const int64_t outputs = source.group.weights_oi[source.matrix].size(0);
    const int64_t groups = g->guided_qii.size(0);
    const at::Tensor device_qii = g->guided_qii.to(source.group.weights_oi[source.matrix].device());
    at::Tensor all;
    for (int64_t q = 0; q < groups; ++q) {
      const at::Tensor h_ii = transform_second_moment(source.transform, device_qii[q]);
      all = all.defined() ? all + h_ii : h_ii;
      if (!source.with_feedback) continue;
      auto factor = factor_of(h_ii, 1, source, out);
      if (q == 0) out.note = describe(*factor);
      out.rows.push_back({.begin = q * outputs / groups,
                          .end = (q + 1) * outputs / groups,
                          .factor = std::move(factor),
                          .moment_ii = source.with_moment ? h_ii.to(at::kFloat) : at::Tensor()});
    }
    out.metric.weight = host_float(all.diagonal()).clamp_min(0).contiguous();
    return out;
  }

 private:
  int groups_;
};

}  // namespace

void GuidedMetricParams::visit(ParamVisitor& v) {
  v.field("groups", groups, "groups of outputs with a second moment of their own").in(1, 64);
}

std::unique_ptr<const MetricProvider> make_guided_metric(const GuidedMetricParams& params) {
  return std::make_unique<Guided>(params);
}

}  // namespace cupel::core
