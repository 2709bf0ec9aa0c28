// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include <cmath>
#include <string>

#include "base/rng.h"
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

/// tr((W - V) H (W - V)^T) per token.
inline double error_under(const Stats& stats, const at::Tensor& w_oi, const at::Tensor& v_oi) {
  const at::Tensor e = (w_oi - v_oi).to(at::kDouble);
  return (at::matmul(e, stats.second_moment_ii) * e).sum().item<double>() /
         static_cast<double>(stats.tokens);
}

}  // namespace cupel::core::testing
