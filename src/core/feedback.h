// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/code.h"
#include "core/quantizer.h"
#include "core/stats.h"

namespace cupel::core {

// Axes: o outputs, i inputs, p positions (inputs in the order of processing), d inputs of a tile.

/// Which inputs are rounded first: those with the most energy, or as they lie. Scales never depend
/// on it.
enum class FeedbackOrder { activation, natural };
const EnumNames& feedback_order_names();

struct FeedbackOptions {
  FeedbackOrder order = FeedbackOrder::activation;
  double damp = 0.01;  ///< share of the mean diagonal that is added to it; grows tenfold until the
                       ///< factorisation works
};

/// A second moment made ready for error feedback: H + damping = F D F^T, F unit upper, in tiles of
/// a code's width.
struct Factor {
  std::vector<int64_t> inputs;  ///< the input at each position
  at::Tensor feedback_pp;      ///< F, float32: what the residual of p adds to later targets. On the
                               ///< device of the moment for tiles of one input, else on the host
  std::vector<double> metric;  ///< D, tile after tile, [d, d] each (the last may be smaller)
  double damp = 0;             ///< the share that worked
  int64_t dead = 0;            ///< inputs that were always zero
  std::string failure;         ///< not empty: there is no factor, and why
  bool usable() const { return failure.empty(); }
};

/// Never throws for bad statistics: zero tokens, NaN, all zero or not factorable at any damping end
/// in `failure`. `second_moment_ii` is a sum over `tokens` tokens, in the basis in which the weight
/// is rounded.
Factor factorise(const at::Tensor& second_moment_ii, int64_t tokens, int tile_cols,
                 const FeedbackOptions& options);

/// Inputs whose feedback is added at once to all that follow; inside such a block it is added one
/// by one. Only speed depends on it, up to rounding.
struct FeedbackBlock {
  int inputs = 128;
};

/// Rounds w_oi with the code; errors of earlier inputs are fed into later ones. No factor: plain
/// rounding. A weight on a GPU is rounded there if its code can be (Encoding::scalar_rounding),
/// everything else on the host.
format::WeightCode encode(const Code& code, const at::Tensor& w_oi, const Metric& metric,
                          const Factor* factor, FeedbackBlock block = {});
/// The same in tensor operations on the device of w, for codes whose encoders are worth a device.
format::WeightCode encode_in_tensor_ops(const Code& code, const at::Tensor& w_oi,
                                        const Metric& metric, const Factor* factor,
                                        FeedbackBlock block = {});

/// Outputs [begin, end) of a matrix (end < 0: to the last) and what their errors are judged by.
struct RowFactor {
  int64_t begin = 0, end = -1;
  std::shared_ptr<const Factor> factor;  ///< null or unusable: plain rounding
  at::Tensor moment_ii;                  ///< H per token, float32: what coordinate descent descends
};

/// Everything that the engine takes for one matrix.
struct FeedbackPlan {
  std::vector<RowFactor> rows;            ///< covers all outputs in order; empty: plain rounding
  std::shared_ptr<const Factor> outputs;  ///< two-sided: errors of earlier outputs are fed into
                                          ///< later ones; null or unusable: one-sided
  FeedbackBlock block;
  int passes = 0;  ///< of coordinate descent afterwards, for rows that have a moment
};

/// Rounds w_oi with the code as planned. Two-sided (YAQA): target = W + L_O'^T dW L_I' + L_O'^T dW
/// + dW L_I' with L' the strict parts of the factors of both sides, in tiles of 16 outputs.
/// Coordinate descent (QuIP#'s extra passes): each input again, all others fixed, target = v + (dW
/// H)_k / H_kk.
format::WeightCode encode(const Code& code, const at::Tensor& w_oi, const Metric& metric,
                          const FeedbackPlan& plan);

/// Fault::data names the first matrix of the group that holds NaN or infinity.
void check_finite(const MatrixGroup& group);

/// Inputs of the group's matrices; they must agree.
int64_t inputs_of(const MatrixGroup& group);

}  // namespace cupel::core
