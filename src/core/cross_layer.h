// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/allocator.h"
#include "core/gradients.h"

namespace cupel::core {

// What changes of several matrices do to the loss together. To second order a token's divergence is
//   1/2 sum_lm K_lm,  K_lm = tr(B_lm^T dW_l A_lm dW_m^T),  A_lm = E[x_l x_m^T], B_lm = E[g_l g_m^T]
// (Kronecker: inputs x and output gradients g taken as independent). With all tokens as rows of X
// and G, K_lm = <M_l, M_m> / t^2 where M_l = G_l dW_l X_l^T [t, t]. So no moment of a pair is ever
// made: M is sketched from both sides by signed sums of tokens that all matrices share,
//   v_l = S' G_l dW_l X_l^T S^T / (r t),  E <v_l, v_m> = K_lm,
// r (inputs + outputs) numbers a matrix, and dW_l enters exactly. Sums over x and g instead (P x
// and R g, two r^2 moments a pair) would have to sketch dW too; rounding errors are noise that a
// sketch of r^2 numbers does not tell from its own error.
//
// Axes: l m matrices, r signed sums of tokens, n sequences, o outputs, i inputs.
// Source: "Kronecker-based approximation that captures cross-layer interactions" (abstract);
// K-FAC for the factors. The error of <v_l, v_m> is |v_l| |v_m| / r where many tokens hold the
// energy, up to 2 / sqrt(r) where one does.

/// Change of each matrix by canonical name, [o, i].
using Changes = std::map<std::string, at::Tensor>;

/// v_l [r * r] float32 of a change. The statistics must hold sketches.
at::Tensor damage_vector(const GradientStats& stats, const at::Tensor& change_oi);

/// The damage of changes, in nats a token of the text.
struct Damage {
  std::vector<std::string> names;  ///< of the changed matrices, in the order of the axes
  at::Tensor pairs_lm;             ///< K, float64: half its diagonal is what each does alone
  double alone() const;            ///< half the trace
  double together() const;         ///< half the sum of all
};
/// By the sketches. Matrices that no gradient reached are left out.
Damage predicted_damage(const Gradients& gradients, const Changes& changes);

/// Without Kronecker and without a sketch: K = C^T C / n from c_l(n) = <dL(n)/dW_l, dW_l>, one
/// backward pass of each sequence, labels drawn anew. Its error is about |c_l| |c_m| / sqrt(n).
Damage sampled_damage(Model& model, const std::vector<std::vector<int32_t>>& sequences,
                      const Changes& changes, const Rng& rng);

/// How fragile a matrix is, whatever will change it.
struct Sensitivity {
  std::string name;
  int64_t weights = 0;
  double own = 0;  ///< f = tr A tr B / weights: twice the damage of noise of variance 1, a weight
  double shared = 0;  ///< mean of rho_lm over all other matrices
};
/// One matrix that calibration reached.
struct SketchedMatrix {
  std::string name;
  const GradientStats* stats;
};
/// rho_lm = |A_lm| |B_lm| / sqrt(|A_ll| |B_ll| |A_mm| |B_mm|), float64 [l, m], in [0, 1]: bounds
/// the part of K_lm that directions can explain. Squared norms are estimated without bias.
at::Tensor correlations(std::span<const SketchedMatrix> matrices);
std::vector<Sensitivity> sensitivities(std::span<const SketchedMatrix> matrices);

/// Means over the matrices of each type (q_proj, down_proj, ...), the most fragile first.
std::vector<Sensitivity> by_type(std::span<const Sensitivity> matrices);

/// What pairs of rungs cost beyond their own costs, for core::allocate_coupled.
struct Couplings {
  /// r sqrt(J J'), r twice the cosine of the rungs' damage vectors times `reliability`; [k, k]
  /// row-major over the rungs of all ladders in order.
  std::vector<float> values;
  /// Share of the cosines' squares that two halves of the sketch, whose signs are independent,
  /// agree on: what is not chance. A choice among many mixes would go by chance else.
  double reliability = 1;
};
/// `vectors` [ladder][rung]; undefined: nothing is known. Of ladders with as many rungs.
Couplings couplings(const std::vector<std::vector<at::Tensor>>& vectors,
                    const std::vector<Ladder>& ladders);

}  // namespace cupel::core
