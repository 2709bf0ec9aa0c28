// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include "format/weight_code.h"
#include "quant/learned_grid.h"

namespace cupel::quant {

/// tr((W - V) H (W - V)^T).
struct RoundingLoss {
  double before = 0, after = 0;
};

/// Learns the rounding of `code`, a uniform one, from the codes of plain rounding, and writes the
/// best that each output had on the way into it: no output ends with a larger loss than it had.
/// With `other`, another plain rounding, each output starts from the better grid. w_oi float32 in
/// the basis of the codes, h_ii [i, i] on the same device. The same bits on any number of threads.
RoundingLoss learn_rounding(const at::Tensor& w_oi, const at::Tensor& h_ii,
                            const RoundingSchedule& schedule, format::WeightCode& code,
                            const format::WeightCode* other = nullptr);

}  // namespace cupel::quant
