// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/transforms/scaling.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

/// `of(w)` [i] of each matrix, joined by `join`, as float64 on the host.
template <class Of, class Join>
at::Tensor over_matrices(const MatrixGroup& group, Of&& of, Join&& join) {
  at::Tensor all_i;
  for (const at::Tensor& w_oi : group.weights_oi) {
    const at::Tensor one_i = of(w_oi.to(at::kFloat)).to(at::kCPU, at::kDouble);
    all_i = all_i.defined() ? join(all_i, one_i) : one_i;
  }
  return all_i;
}

at::Tensor sum(const at::Tensor& a, const at::Tensor& b) {
  return a + b;
}

}  // namespace

format::InputTransform named(format::InputTransform t, std::string_view group) {
  t.id.clear();
  if (t.identity()) return t;
  // The checksum keeps the ids of different ones apart, should a model ever hold two of one group.
  const uint32_t signs = crc32c(std::as_bytes(std::span(t.signs)));
  t.id = cat(group, t.scale.empty() ? "" : ".scaled",
             t.hadamard > 0 ? cat(".hadamard", t.hadamard) : "", "-",
             crc32c(std::as_bytes(std::span(t.scale)), signs));
  return t;
}

at::Tensor centred(const at::Tensor& s_i) {
  const at::Tensor alive_i = at::isfinite(s_i) & (s_i > 0);
  if (!alive_i.any().item<bool>()) return at::ones_like(s_i);
  const at::Tensor alive = s_i.masked_select(alive_i).log();
  const at::Tensor middle = ((alive.max() + alive.min()) / 2).exp();
  return at::where(alive_i, s_i / middle, at::ones_like(s_i));
}

format::InputTransform divided_by(const at::Tensor& s_i) {
  format::InputTransform t;
  if ((s_i == 1).all().item<bool>()) return t;
  const at::Tensor scale_i = host_float(s_i.reciprocal());
  const auto values = floats(scale_i);
  t.scale.assign(values.begin(), values.end());
  return t;
}

at::Tensor weight_absmax(const MatrixGroup& group) {
  return over_matrices(
      group, [](const at::Tensor& w_oi) { return w_oi.abs().amax(0); },
      [](const at::Tensor& a, const at::Tensor& b) { return at::maximum(a, b); });
}

at::Tensor weight_abs_mean(const MatrixGroup& group) {
  int64_t rows = 0;
  for (const at::Tensor& w_oi : group.weights_oi) rows += w_oi.size(0);
  const auto of = [](const at::Tensor& w_oi) { return w_oi.abs().sum(0, false, at::kDouble); };
  return over_matrices(group, of, sum) / static_cast<double>(rows);
}

at::Tensor weight_squares(const MatrixGroup& group) {
  const auto of = [](const at::Tensor& w_oi) { return (w_oi * w_oi).sum(0, false, at::kDouble); };
  return over_matrices(group, of, sum);
}

std::string unusable(const Stats& stats, const at::Tensor& values_i) {
  if (stats.tokens <= 0) return "no calibration token reached it";
  CUPEL_ASSERT(values_i.defined());
  if (!at::isfinite(values_i).all().item<bool>())
    return "the statistics of its input hold NaN or infinity";
  if (!(values_i > 0).any().item<bool>()) return "its input was zero at every token";
  return {};
}

MadeTransform no_scaling(const std::string& why) {
  return {.fallback = "no scaling of inputs: " + why};
}

}  // namespace cupel::core
