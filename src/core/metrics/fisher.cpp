// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: a weight matters as much as the loss reacts to it.
// Formula: sum_ij F_ij dW_ij^2, F_ij = E[(dL/dW_ij)^2] over sequences; feedback as for
// `activation`. Source: "SqueezeLLM: Dense-and-Sparse Quantization"; the gradient score of the
// TileQuant seed. Cost: one backward pass over the calibration text, one float32 per weight.
// Differs: labels are drawn from the model: F is its Fisher information, not the empirical one.
#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "core/metrics/list.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

class Fisher : public MetricProvider {
 public:
  Needs needs() const override { return {.second_moment = true}; }
  GradientNeeds gradient_needs() const override { return {.fisher = true}; }
  PreparedMetric prepare(const MetricSource& source) const override {
    CUPEL_CHECK(source.transform.hadamard == 0, user,
                "metric fisher knows the weights as they lie: it does not go with a Hadamard "
                "transform");
    PreparedMetric out;
    if (source.with_feedback) out = activation_metric(source);
    const GradientStats* g = source.group.gradient(source.matrix);
    if (!g || !g->fisher_oi.defined() || !g->finite()) {
      if (out.fallback.empty())
        out.fallback = cat(source.with_feedback ? "metric activation" : "plain rounding",
                           ": no gradient of the loss reached it");
      return out;
    }
    out.metric.weight = fisher_weights(*g);
    if (!source.transform.scale.empty()) {
      // W' = W / s: an error of W' is s times as large an error of W.
      const at::Tensor s_i = at::tensor(at::ArrayRef<float>(source.transform.scale));
      out.metric.weight = out.metric.weight * s_i.square();
    }
    out.metric.weight = out.metric.weight.contiguous();
    out.metric.tile_i = at::Tensor();
    return out;
  }
};

}  // namespace

std::unique_ptr<const MetricProvider> make_fisher_metric(const FisherMetricParams&) {
  return std::make_unique<Fisher>();
}

}  // namespace cupel::core
