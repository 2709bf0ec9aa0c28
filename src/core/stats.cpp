// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/stats.h"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"

namespace cupel::core {
namespace {

// Tokens whose products are summed in float32 before they join the float64 sum; more lose digits,
// fewer cost time.
constexpr int64_t kPieceTokens = 1024;

/// x^T x in float32. Products of 16-bit numbers are exact in float32, so a GPU may use its fast
/// units.
at::Tensor gram(const at::Tensor& x_ti) {
  const bool narrow = x_ti.scalar_type() == at::kBFloat16 || x_ti.scalar_type() == at::kHalf;
  if (narrow && x_ti.is_cuda()) return at::mm(x_ti.t(), x_ti, at::kFloat);
  const at::Tensor wide_ti = x_ti.to(at::kFloat);
  return at::matmul(wide_ti.t(), wide_ti);
}

bool all_finite(const at::Tensor& t) {
  return !t.defined() || at::isfinite(t).all().item<bool>();
}

}  // namespace

void Stats::add(const Needs& needs, const at::Tensor& x, const at::Tensor& original) {
  const c10::NoGradGuard no_grad;
  const int64_t width = x.size(-1);
  const at::Tensor x_ti = x.reshape({-1, width});
  const auto options = at::TensorOptions(at::kDouble).device(x.device());
  if (needs.second_moment && !second_moment_ii.defined())
    second_moment_ii = at::zeros({width, width}, options);
  if (needs.absmax && !absmax_i.defined()) absmax_i = at::zeros({width}, options);
  if (needs.abs_sum && !abs_sum_i.defined()) abs_sum_i = at::zeros({width}, options);
  for (int64_t t = 0; t < x_ti.size(0); t += kPieceTokens) {
    const at::Tensor raw = x_ti.slice(0, t, std::min(t + kPieceTokens, x_ti.size(0)));
    if (needs.second_moment) second_moment_ii.add_(gram(raw));
    if (!needs.absmax && !needs.abs_sum) continue;
    const at::Tensor piece = raw.to(at::kFloat);
    if (needs.absmax) absmax_i = at::maximum(absmax_i, piece.abs().amax(0).to(at::kDouble));
    if (needs.abs_sum) abs_sum_i.add_(piece.abs().sum(0, false, at::kDouble));
  }
  if (needs.inputs && x_ti.size(0) > 0) inputs.push_back(x_ti.detach().to(at::kFloat));
  if (needs.cross_moment && original.defined()) add_cross(needs, x_ti, original);
  tokens += x_ti.size(0);
}

void Stats::add_cross(const Needs& needs, const at::Tensor& x_ti, const at::Tensor& original) {
  const at::Tensor original_ti = original.reshape({-1, original.size(-1)}).to(at::kFloat);
  CUPEL_ASSERT(original_ti.sizes() == x_ti.sizes());
  if (!cross_moment_ii.defined())
    cross_moment_ii = at::zeros({x_ti.size(1), x_ti.size(1)},
                                at::TensorOptions(at::kDouble).device(x_ti.device()));
  for (int64_t t = 0; t < x_ti.size(0); t += kPieceTokens) {
    const int64_t end = std::min(t + kPieceTokens, x_ti.size(0));
    cross_moment_ii.add_(
        at::matmul(original_ti.slice(0, t, end).t(), x_ti.slice(0, t, end).to(at::kFloat)));
  }
  if (needs.inputs && x_ti.size(0) > 0) original_inputs.push_back(original_ti.detach());
}

bool Stats::finite() const {
  return all_finite(cross_moment_ii) && all_finite(second_moment_ii) && all_finite(absmax_i) &&
         all_finite(abs_sum_i);
}

}  // namespace cupel::core
