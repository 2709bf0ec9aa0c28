// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: a warp holds a few rows of a block of columns in registers, a lane every 32nd column. At
// each column the lane that has it says what was lost, and all lanes add that, times their entry of
// F, to their own columns.
// Cost: rows * columns^2 / 2 multiplications; F is read once per thread block, into shared memory.
// The rounding itself is that of the host, bit for bit: compile without contraction.
#include <algorithm>

#include "kernels/cuda/columns.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/levels.cuh"

namespace cupel::kernels::cuda {
namespace {

constexpr int kLanes = 32, kParts = kBlockColumns / kLanes;
constexpr int kWarps = 8, kWarpRows = 4;

struct LevelTable {
  float level[kMostLevels], threshold[kMostLevels];
  uint8_t code[kMostLevels];
};

__device__ float entry(const ScaleView& view, int64_t b, int64_t g) {
  return view.data[b * view.row_stride + g * view.col_stride];
}

/// What a lane needs to round the targets of one weight.
struct Grid {
  float step, scale, offset;  // offset: zero of integers, sign of levels
  float outer;
};

struct Rounded {
  float value;
  uint8_t code;
};

__device__ Grid grid_at(const ScalarRule& rule, int64_t row, int64_t input) {
  const int64_t b = row / rule.block_rows, g = input / rule.group_width;
  return {entry(rule.step_bg, b, g), entry(rule.scale_bg, b, g),
          entry(rule.levels ? rule.sign_bg : rule.zero_bg, b, g),
          rule.outer_o ? rule.outer_o[row * rule.outer_stride] : 1.0f};
}

__device__ Rounded to_integer(const Grid& g, float top, float x) {
  const float low = -g.offset, high = top - g.offset;
  const float k = rintf(fminf(fmaxf(x / g.step, low), high));
  return {g.scale * k, static_cast<uint8_t>(static_cast<int>(k + g.offset))};
}

__device__ Rounded to_level(const Grid& g, const LevelTable& table, int levels, float x) {
  const float t = g.step > 0 ? g.offset * x / g.step : 0.0f;
  const int k = nearest_level(table.threshold, levels, t);
  const int code = table.code[k];
  return {(g.offset * table.level[k] * g.scale) * g.outer,
          static_cast<uint8_t>(g.offset < 0 ? levels - 1 - code : code)};
}

__device__ Rounded rounded(const ScalarRule& rule, const LevelTable& table, const Grid& g,
                           float x) {
  return rule.levels ? to_level(g, table, rule.levels, x) : to_integer(g, rule.top, x);
}

__device__ void load_levels(const ScalarRule& rule, LevelTable& table) {
  for (int k = threadIdx.x; k < rule.levels; k += blockDim.x) {
    table.level[k] = rule.level[k];
    table.code[k] = rule.level_code[k];
    if (k + 1 < rule.levels) table.threshold[k] = rule.threshold[k];
  }
}

__global__ void plain(ScalarRule rule, ColumnBlock block) {
  __shared__ LevelTable table;
  load_levels(rule, table);
  __syncthreads();
  const int64_t n = block.rows * block.columns;
  for (int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; k < n;
       k += int64_t{gridDim.x} * blockDim.x) {
    const int64_t row = k / block.columns, p = block.begin + k % block.columns;
    const int64_t at = row * block.positions + p;
    const Grid grid = grid_at(rule, block.first_row + row, block.input_p[p]);
    block.code_op[at] = rounded(rule, table, grid, block.target_op[at]).code;
  }
}

/// Rows [row, row + kWarpRows) of a block in the registers of one warp: part k of lane l is column
/// 32 k + l.
struct WarpRows {
  float weight[kWarpRows][kParts], target[kWarpRows][kParts], lost[kWarpRows][kParts];
  uint8_t code[kWarpRows][kParts];
  Grid grid[kWarpRows][kParts];
};

__device__ void load(const ScalarRule& rule, const ColumnBlock& block, int64_t row, int lane,
                     WarpRows& w) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const int column = part * kLanes + lane;
    const bool inside = column < block.columns;
    const int64_t p = block.begin + column;
    const int64_t input = inside ? block.input_p[p] : 0;
#pragma unroll
    for (int r = 0; r < kWarpRows; ++r) {
      const bool real = inside && row + r < block.rows;
      const int64_t at = (row + r) * block.positions + p;
      w.weight[r][part] = real ? block.weight_op[at] : 0.0f;
      w.target[r][part] = real ? block.target_op[at] : 0.0f;
      w.lost[r][part] = 0;
      w.code[r][part] = 0;
      w.grid[r][part] = real ? grid_at(rule, block.first_row + row + r, input) : Grid{1, 0, 0, 1};
    }
  }
}

__device__ void store(const ColumnBlock& block, int64_t row, int lane, const WarpRows& w) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const int column = part * kLanes + lane;
    if (column >= block.columns) continue;
#pragma unroll
    for (int r = 0; r < kWarpRows; ++r) {
      if (row + r >= block.rows) continue;
      block.code_op[(row + r) * block.positions + block.begin + column] = w.code[r][part];
      if (block.residual_oc)
        block.residual_oc[(row + r) * kBlockColumns + column] = w.lost[r][part];
    }
  }
}

__global__ void __launch_bounds__(kWarps* kLanes)
    with_feedback(ScalarRule rule, ColumnBlock block) {
  extern __shared__ float feedback_cc[];  // [columns, kBlockColumns]
  __shared__ LevelTable table;
  load_levels(rule, table);
  for (int k = threadIdx.x; k < block.columns * kBlockColumns; k += blockDim.x) {
    const int64_t from = k / kBlockColumns, to = k % kBlockColumns;
    feedback_cc[k] =
        to < block.columns
            ? block.feedback_pp[(block.begin + from) * block.positions + block.begin + to]
            : 0.0f;
  }
  __syncthreads();
  const int lane = threadIdx.x % kLanes;
  const int64_t row = (blockIdx.x * int64_t{kWarps} + threadIdx.x / kLanes) * kWarpRows;
  if (row >= block.rows) return;
  WarpRows w;
  load(rule, block, row, lane, w);
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const int left = static_cast<int>(block.columns) - part * kLanes;
    for (int c = 0; c < min(kLanes, left); ++c) {
      const float* f = feedback_cc + (part * kLanes + c) * kBlockColumns + lane;
#pragma unroll
      for (int r = 0; r < kWarpRows; ++r) {
        const Rounded own = rounded(rule, table, w.grid[r][part], w.target[r][part]);
        const float own_lost = w.weight[r][part] - own.value;
        if (lane == c) {
          w.lost[r][part] = own_lost;
          w.code[r][part] = own.code;
        }
        const float lost = __shfl_sync(0xffffffffu, own_lost, c);
#pragma unroll
        for (int later = part; later < kParts; ++later)
          w.target[r][later] = __fmaf_rn(lost, f[later * kLanes], w.target[r][later]);
      }
    }
  }
  store(block, row, lane, w);
}

}  // namespace

bool built() {
  return true;
}

void round_columns(const ScalarRule& rule, const ColumnBlock& block, int device) {
  CUPEL_ASSERT(rule.levels <= kMostLevels && block.begin + block.columns <= block.positions);
  check(cudaSetDevice(device), "choosing the device");
  if (!block.feedback_pp) {
    constexpr int64_t kThreads = 256, kMostBlocks = 1 << 16;
    const int64_t n = blocks_of(block.rows * block.columns, kThreads);
    plain<<<static_cast<unsigned>(std::min(n, kMostBlocks)), kThreads>>>(rule, block);
  } else {
    CUPEL_ASSERT(block.columns <= kBlockColumns);
    const auto bytes = static_cast<int>(block.columns * kBlockColumns * sizeof(float));
    check(cudaFuncSetAttribute(with_feedback, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
          "reserving shared memory for the column loop");
    with_feedback<<<static_cast<unsigned>(blocks_of(block.rows, kWarps * kWarpRows)),
                    kWarps * kLanes, bytes>>>(rule, block);
  }
  check(cudaGetLastError(), "the column loop");
}

}  // namespace cupel::kernels::cuda
