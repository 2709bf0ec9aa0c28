// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "quant/output_metric.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/matmul.h>

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "core/product.h"

namespace cupel::quant {
namespace {

using core::product;

// Of the orthogonal iteration: the directions of a spectrum that falls slowly need no more.
constexpr int kIterations = 8;

/// Gram-Schmidt over the columns of a [o, r], twice: once leaves the rounding errors of the first.
void orthonormalise(at::Tensor& a_or) {
  for (int64_t c = 0; c < a_or.size(1); ++c) {
    at::Tensor column = a_or.select(1, c);
    const at::Tensor before = a_or.slice(1, 0, c);
    for (int pass = 0; pass < 2 && c > 0; ++pass)
      column.sub_((before * (before * column.unsqueeze(1)).sum(0)).sum(1));
    const double length = column.norm().item<double>();
    column.mul_(length > 0 ? 1 / length : 0);
  }
}

/// U [o, r] with U U^T = Y B^-1 Y^T, Y = G Q and B = Q^T Y, for Q near the largest directions of G:
/// nowhere above a G that is positive definite, and equal to it at full rank (Nystrom).
at::Tensor leading(const at::Tensor& g_oo, int64_t rank) {
  at::Tensor q = at::empty({g_oo.size(0), rank}, at::kDouble);
  Rng rng(1, "directions");
  for (int64_t k = 0; k < q.numel(); ++k) q.mutable_data_ptr<double>()[k] = rng.normal();
  q = q.to(g_oo.device());
  at::Tensor y;
  for (int k = 0; k < kIterations; ++k) {
    orthonormalise(q);
    y = product(g_oo, q);
    if (k + 1 < kIterations) q = y.clone();
  }
  const at::Tensor b_rr = product(q.t(), y);
  const at::Tensor lower_rr = at::linalg_cholesky((b_rr + b_rr.t()) / 2);
  return at::linalg_solve_triangular(lower_rr, y.t(), /*upper=*/false).t();
}

}  // namespace

double product_sum(const at::Tensor& a_io, const at::Tensor& b_io) {
  return (a_io * b_io).sum(-1, false, at::kDouble).sum().item<double>();
}

OutputMetric::OutputMetric(const core::GradientStats& stats, OutputForm form, double damp,
                           int64_t whole, int64_t rank, at::Device device)
    : outputs_(stats.output_moment_oo.size(0)) {
  if (form == OutputForm::identity) return;
  at::Tensor g_oo = stats.output_moment_oo.to(device) / static_cast<double>(stats.tokens);
  const double mean = g_oo.diagonal().mean().item<double>();
  g_oo.diagonal().add_(damp * mean);
  if (form == OutputForm::full && outputs_ <= whole) {
    whole_oo_ = g_oo;
    return;
  }
  diagonal_o_ = g_oo.diagonal().clone();
  if (form == OutputForm::diagonal || rank == 0) return;
  low_or_ = leading(g_oo, std::min(rank, outputs_));
  diagonal_o_ = (diagonal_o_ - low_or_.square().sum(1)).clamp_min(0);
}

at::Tensor OutputMetric::times(const at::Tensor& e_io) const {
  const auto type = e_io.scalar_type();
  if (whole_oo_.defined()) return product(e_io, whole_oo_.to(type));
  if (!diagonal_o_.defined()) return e_io;
  const at::Tensor own = e_io * diagonal_o_.to(type);
  if (!low_or_.defined()) return own;
  const at::Tensor low_or = low_or_.to(type);
  return own + product(product(e_io, low_or), low_or.t());
}

at::Tensor OutputMetric::dense() const {
  return times(at::eye(outputs_, at::TensorOptions(at::kDouble)
                                     .device(whole_oo_.defined()     ? whole_oo_.device()
                                             : diagonal_o_.defined() ? diagonal_o_.device()
                                                                     : at::Device(at::kCPU))));
}

OutputLoss::OutputLoss(const OutputMetric& g, const at::Tensor& w_oi, const core::InputMoments& m)
    : g_(g), w_io_(w_oi.t().contiguous()) {
  const auto per_token = [&](const at::Tensor& sum_ii) {
    return (sum_ii / static_cast<double>(m.tokens)).to(at::kFloat);
  };
  zz_ii_ = per_token(m.zz_ii);
  if (!m.rz_ii.defined()) return;
  pull_io_ = product(per_token(m.rz_ii).t(), w_io_);
  weighed_io_ = g.times(pull_io_);
  constant_ = product_sum(g.times(w_io_), product(per_token(m.rr_ii), w_io_));
}

OutputLoss::Judged OutputLoss::judge(const at::Tensor& v_io) const {
  const at::Tensor lost_io = v_io - w_io_, pushed_io = product(zz_ii_, lost_io);
  if (!pull_io_.defined()) {
    const at::Tensor gradient_io = g_.times(pushed_io);
    return {product_sum(lost_io, gradient_io) / 2, gradient_io};
  }
  const at::Tensor gradient_io = g_.times(pushed_io - pull_io_);
  return {(product_sum(lost_io, gradient_io - weighed_io_) + constant_) / 2, gradient_io};
}

}  // namespace cupel::quant
