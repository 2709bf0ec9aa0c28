// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/transforms/rounding_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "core/feedback.h"
#include "core/tensor_util.h"

namespace cupel::core {

TransformLoss rounding_loss(const MatrixGroup& group, const Stats& stats, const Code& code,
                            FitMetric fit) {
  return [&group, &stats, &code, fit](const format::InputTransform& transform) {
    const c10::NoGradGuard no_grad;
    CUPEL_ASSERT(stats.tokens > 0 && stats.second_moment_ii.defined());
    const auto device = group.weights_oi.front().device();
    const at::Tensor h_ii = transform_second_moment(transform, stats.second_moment_ii.to(device)) /
                            static_cast<double>(stats.tokens);
    // Float32 is enough to tell candidates apart; the sum over outputs is float64.
    const at::Tensor product_ii = h_ii.to(at::kFloat);
    Metric metric;
    if (fit == FitMetric::second_moment) metric.weight = host_float(h_ii.diagonal()).clamp_min(0);
    double loss = 0;
    for (std::size_t m = 0; m < group.weights_oi.size(); ++m) {
      const at::Tensor& w_oi = group.weights_oi[m];
      CUPEL_CHECK(at::isfinite(w_oi).all().item<bool>(), data, group.names[m],
                  ": every weight must be finite, but it holds NaN or infinity");
      const at::Tensor target = transform_weight(transform, w_oi);
      const at::Tensor e_oi =
          target - decode(encode(code, target, metric, nullptr)).to(target.device());
      loss += (at::matmul(e_oi, product_ii) * e_oi).sum(at::kDouble).item<double>();
    }
    return loss;
  };
}

MadeTransform transform_for(const Transform& transform, const MatrixGroup& group,
                            const Stats& stats, const Rng& rng, const Code& code, FitMetric fit) {
  return transform.make(
      {.group = group, .stats = stats, .rng = rng, .loss = rounding_loss(group, stats, code, fit)});
}

}  // namespace cupel::core
