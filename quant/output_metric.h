// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include "core/gradients.h"
#include "core/input_moments.h"

/// Axes: o outputs, i inputs, r directions of a low rank.
namespace cupel::quant {

/// How much is kept of G = E[g g^T], g the gradient of the log-likelihood by the outputs.
enum class OutputForm { identity, diagonal, full };

/// G of one matrix: what an error dy of its outputs costs is dy^T G dy / 2, in nats where the
/// labels are drawn from the model. Held as a whole for few outputs, else as diag(d) + U U^T with
/// the diagonal exact.
class OutputMetric {
 public:
  /// G = 1.
  explicit OutputMetric(int64_t outputs) : outputs_(outputs) {}
  /// `damp`: share of the mean diagonal that is added to the diagonal. More outputs than `whole`
  /// take `rank` directions.
  OutputMetric(const core::GradientStats& stats, OutputForm form, double damp, int64_t whole,
               int64_t rank, at::Device device);
  /// E G of errors [.., o], in their type.
  at::Tensor times(const at::Tensor& e_io) const;
  /// Whether outputs are weighed against each other.
  bool couples() const { return whole_oo_.defined() || low_or_.defined(); }
  /// G [o, o], float64.
  at::Tensor dense() const;

 private:
  int64_t outputs_;
  at::Tensor diagonal_o_, low_or_;  ///< float64; undefined: 1, none
  at::Tensor whole_oo_;             ///< instead of both
};

/// sum a b, in an order that no number of threads changes.
double product_sum(const at::Tensor& a_io, const at::Tensor& b_io);

/// J = E[dy^T G dy] / 2 of dy = V z - W x = (V - W) z - W r, per token, in products of float32: the
/// difference is what is squared, so nothing cancels.
class OutputLoss {
 public:
  /// w [o, i] in the basis of the moments.
  OutputLoss(const OutputMetric& g, const at::Tensor& w_oi, const core::InputMoments& moments);
  /// Of v [o, i] in the same basis.
  double of(const at::Tensor& v_oi) const { return judge(v_oi.t()).loss; }
  struct Judged {
    double loss;
    at::Tensor gradient_io;  ///< dJ/dV
  };
  Judged judge(const at::Tensor& v_io) const;

 private:
  const OutputMetric& g_;
  at::Tensor w_io_, zz_ii_;
  at::Tensor pull_io_, weighed_io_;  ///< E[z r^T] W^T, and that times G; undefined without r
  double constant_ = 0;              ///< tr(G W E[r r^T] W^T)
};

}  // namespace cupel::quant
