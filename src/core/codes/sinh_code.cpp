// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: two numbers bend and shift a grid to the weights that it has to hold.
// Formula: min over alpha, c of sum h (w - s g(w / s; alpha, c))^2, s searched for every block.
// Source: the SHq seed (companding strength and offset), our reading: a search over a table.
// Cost: 28 searches over 64 rows.
// Differs: one grid per matrix, chosen under the metric by plain rounding, before any feedback.
#include "core/codes/sinh_code.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <limits>

#include "core/codes/grid_code.h"
#include "core/feedback.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

constexpr int64_t kSampledRows = 64;
constexpr double kAlphas[] = {0, 0.5, 1, 1.5, 2, 2.5, 3};
constexpr double kOffsets[] = {0, 0.5, 1, 1.5};  // in units of half a step of the even grid

}  // namespace

std::unique_ptr<Encoding> SinhCode::fit(const at::Tensor& w_oi, const Metric& metric) const {
  auto params = dynamic_cast<const format::SinhParams&>(layout_->params());
  if (!params.fit) return GridCode(layout_, rule_).fit(w_oi, metric);
  params.fit = false;
  const int64_t stride = std::max<int64_t>(1, w_oi.size(0) / kSampledRows);
  const at::Tensor sample_oi = w_oi.slice(0, 0, w_oi.size(0), stride).contiguous();
  const at::Tensor host_oi = host_float(sample_oi);
  Metric sampled = metric;
  if (metric.weight.defined() && metric.weight.dim() == 2)
    sampled.weight = metric.weight.slice(0, 0, w_oi.size(0), stride).contiguous();
  double least = std::numeric_limits<double>::infinity();
  format::SinhParams best = params;
  for (const double alpha : kAlphas)
    for (const double offset : kOffsets) {
      params.alpha = alpha;
      params.offset = offset / ((1 << params.bits) - 1);
      if (!params.mirror && offset > 0) continue;
      const GridCode code(std::make_shared<format::SinhLayout>(params), ScaleRule::mse);
      at::Tensor e = (host_oi - decode(encode(code, sample_oi, sampled, nullptr))).square();
      if (sampled.weight.defined()) e = e * sampled.weight;
      const double error = e.to(at::kDouble).sum().item<double>();
      if (!(error < least)) continue;
      least = error;
      best = params;
    }
  return GridCode(std::make_shared<format::SinhLayout>(best), rule_).fit(w_oi, metric);
}

}  // namespace cupel::core
