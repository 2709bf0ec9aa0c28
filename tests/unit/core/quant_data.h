// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/rng.h"
#include "core/gradients.h"
#include "core/stats.h"

namespace cupel::core::testing {

/// Standard normal numbers, the same in every run.
inline at::Tensor normals(at::IntArrayRef shape, const std::string& name) {
  Rng rng(11, name);
  at::Tensor t = at::empty(shape, at::kFloat);
  float* values = t.mutable_data_ptr<float>();
  for (int64_t i = 0; i < t.numel(); ++i) values[i] = static_cast<float>(rng.normal());
  return t;
}

/// Inputs [tokens, i] as layers see them: correlated, with a falling spectrum and channels of
/// uneven size.
inline at::Tensor correlated_inputs(int64_t tokens, int64_t inputs, const std::string& name) {
  at::Tensor hidden = normals({tokens, inputs}, name + " hidden");
  at::Tensor spread_i = normals({inputs}, name + " spread");
  for (int64_t i = 0; i < inputs; ++i) {
    hidden.select(1, i).mul_(1.0 / std::sqrt(static_cast<double>(i) + 1));
    spread_i[i].mul_(0.7).exp_();
  }
  const at::Tensor mix = normals({inputs, inputs}, name + " mix");
  return (at::matmul(hidden, mix) + 0.05 * normals({tokens, inputs}, name + " noise")) * spread_i;
}

inline Stats stats_of(const at::Tensor& x_ti) {
  Stats stats;
  stats.add({.second_moment = true,
             .absmax = true,
             .abs_sum = true,
             .inputs = true,
             .cross_moment = true},
            x_ti, x_ti);
  return stats;
}

/// What the gradient pass would have found for a matrix with these inputs.
inline GradientStats gradients_of(const GradientNeeds& needs, const at::Tensor& x_ti,
                                  int64_t outputs, const std::string& name) {
  constexpr int64_t kSequences = 4;
  const int64_t tokens = x_ti.size(0);
  GradientStats s{.tokens = tokens, .sequences = kSequences};
  const at::Tensor g_to = normals({tokens, outputs}, name + " gradient");
  if (needs.fisher) {
    s.fisher_oi = at::zeros({outputs, x_ti.size(1)}, at::kFloat);
    s.gradient_oi = at::zeros({outputs, x_ti.size(1)}, at::kFloat);
    for (int64_t t = 0; t + tokens / kSequences <= tokens; t += tokens / kSequences) {
      const int64_t end = t + tokens / kSequences;
      const at::Tensor dw_oi = at::matmul(g_to.slice(0, t, end).t(), x_ti.slice(0, t, end));
      s.fisher_oi.add_(dw_oi * dw_oi);
      s.gradient_oi.add_(dw_oi);
    }
  }
  if (needs.output_moment) s.output_moment_oo = at::matmul(g_to.t(), g_to).to(at::kDouble);
  const int64_t groups = std::min<int64_t>(needs.groups, outputs);
  if (groups == 0) return s;
  s.saliency_tq = at::zeros({tokens, groups}, at::kFloat);
  s.guided_qii = at::zeros({groups, x_ti.size(1), x_ti.size(1)}, at::kDouble);
  for (int64_t q = 0; q < groups; ++q) {
    const at::Tensor part = g_to.slice(1, q * outputs / groups, (q + 1) * outputs / groups);
    s.saliency_tq.select(1, q).copy_((part * part).mean(1));
    const at::Tensor x = x_ti.to(at::kDouble);
    s.guided_qii[q].copy_(at::matmul((x * s.saliency_tq.select(1, q).unsqueeze(1)).t(), x));
  }
  return s;
}

/// tr((W - V) H (W - V)^T) per token.
inline double error_under(const Stats& stats, const at::Tensor& w_oi, const at::Tensor& v_oi) {
  const at::Tensor e = (w_oi - v_oi).to(at::kDouble);
  return (at::matmul(e, stats.second_moment_ii) * e).sum().item<double>() /
         static_cast<double>(stats.tokens);
}

}  // namespace cupel::core::testing
