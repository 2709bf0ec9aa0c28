// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>

#include "kernels/scale_choice.h"

/// Rounding of whole matrices on an NVIDIA GPU, on raw device pointers. Work is queued on the
/// default stream of the device, which is where LibTorch queues its own.
namespace cupel::kernels::cuda {

// Axes: o outputs, i inputs, p positions (inputs in the order of processing), b blocks of outputs
// and g groups of inputs that share a scale.

/// Whether this program was built with a CUDA compiler. The functions below are Fault::internal
/// without one, and Fault::environment when the device refuses the work.
bool built();

/// Entry (b, g) of a matrix of scales: data[b * row_stride + g * col_stride].
struct ScaleView {
  const float* data = nullptr;
  int64_t row_stride = 0, col_stride = 0;
};

/// How a code of scalars rounds a target x of output o and input i, with b = o / block_rows and g =
/// i / group_width.
/// Without levels: k = clamp(round(x / step), -zero, top - zero), halves to even; the value is
/// scale * k, the code k + zero.
/// With levels: k is how many thresholds lie below sign * x / step (0 for a step of 0); the value
/// is (sign * level[k] * scale) * outer, the code that of level k, counted from the other end for
/// sign -1.
struct ScalarRule {
  ScaleView step_bg, scale_bg;
  ScaleView zero_bg;  ///< integers: the code of 0
  float top = 0;      ///< integers: the highest code
  int levels = 0;     ///< at most kMostLevels, ascending; 0: integers
  const float* level = nullptr;
  const float* threshold = nullptr;  ///< [levels - 1]
  const uint8_t* level_code = nullptr;
  ScaleView sign_bg;               ///< +1 or -1
  const float* outer_o = nullptr;  ///< null: 1
  int64_t outer_stride = 0;        ///< 0: one for all outputs
  int64_t block_rows = 1, group_width = 1;
};

/// Most positions that one call of round_columns() feeds errors through.
constexpr int kBlockColumns = 128;
/// Most levels of a grid.
constexpr int kMostLevels = 256;

/// Positions [begin, begin + columns) of all rows. Matrices are row-major with `positions` columns;
/// F is the upper unit factor of core::Factor.
struct ColumnBlock {
  int64_t first_row = 0;  ///< the rule's output that is row 0 here
  int64_t rows = 0, positions = 0, begin = 0, columns = 0;
  const int32_t* input_p = nullptr;    ///< the input at each position
  const float* weight_op = nullptr;    ///< what residuals are measured against
  const float* target_op = nullptr;    ///< with the feedback of all earlier blocks
  const float* feedback_pp = nullptr;  ///< null: plain rounding, any number of columns
  float* residual_oc = nullptr;  ///< out [rows, kBlockColumns]: weight - value; null: not wanted
  uint8_t* code_op = nullptr;    ///< out
};

/// Rounds the block input by input; inside it, each input's residual is fed into those after it.
void round_columns(const ScalarRule& rule, const ColumnBlock& block, int device);

/// Grids of integers for each group of `group_width` inputs of each row of w_oi, contiguous.
struct UniformFit {
  int64_t rows = 0, inputs = 0, group_width = 0;
  const float* w_oi = nullptr;
  const float* weight_oi = nullptr;  ///< of errors; null: 1
  int64_t weight_row_stride = 0;     ///< 0: the same for all rows
  float top = 0;
  bool symmetric = false;
  bool search = false;  ///< try smaller ranges, not the extremes alone
  float *scale_go = nullptr, *step_go = nullptr, *zero_go = nullptr;  ///< out, [groups, rows]
};

/// The same bits as core::UniformFitter: sums run in its order.
void fit_uniform(const UniformFit& fit, int device);

/// The scales of the blocks of w_oi, contiguous, on a grid of levels. Blocks of more than
/// kLargestBlock numbers take long: one team of threads has each.
struct GridFit {
  int64_t rows = 0, inputs = 0, block_rows = 1, block_cols = 0;
  const float* w_oi = nullptr;
  const float* weight_oi = nullptr;  ///< of errors; null: 1
  int64_t weight_row_stride = 0;     ///< 0: the same for all rows
  ScaleKind kind;
  bool search = false;  ///< not the extremes alone
  int levels = 0;       ///< ascending
  const float* level = nullptr;
  const float* threshold = nullptr;  ///< [levels - 1]
  const float* outer_b = nullptr;    ///< null: 1
  int64_t outer_stride = 0;          ///< 0: one for all
  int32_t* bits_bg = nullptr;        ///< out: scales as they are stored
  double* error_bg = nullptr;        ///< out; null: not wanted
  double* error_b = nullptr;         ///< out: the sum of error_bg over g; null: not wanted
};
constexpr int64_t kLargestBlock = 1 << 17;

/// The same bits as core::ScaleSearch without its exact sweep.
void fit_grid(const GridFit& fit, int device);

}  // namespace cupel::kernels::cuda
