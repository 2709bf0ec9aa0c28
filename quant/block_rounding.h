// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "base/rng.h"
#include "core/pipeline/block_handle.h"
#include "format/weight_code.h"
#include "quant/learned_grid.h"

namespace cupel::quant {

/// One matrix of a block, all in the order of the block's parts.
struct BlockMatrix {
  at::Tensor w_oi;           ///< in the basis of the codes, on the model's device
  format::WeightCode code;   ///< in: of plain rounding; out: what was chosen
  format::WeightCode other;  ///< another choice to compare with, in the same basis
};

/// Mean over samples of the mean squared error of the block's output.
struct BlockLoss {
  double plain = 0, other = 0, chosen = 0;
};

/// Learns the rounding of all matrices of a block together, `batch` samples a step; keeps the codes
/// of the least loss over all samples among those of plain rounding, the others that were given,
/// and some that were met on the way. Same seed, same bytes, as far as the model's own products
/// are the same: not on another number of threads. Source: "Optimize Weight Rounding via Signed
/// Gradient Descent for the Quantization of LLMs" (SignRound).
BlockLoss learn_block(const core::BlockHandle& block, const RoundingSchedule& schedule, int batch,
                      Rng rng, std::vector<BlockMatrix>& matrices);

}  // namespace cupel::quant
