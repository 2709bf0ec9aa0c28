// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: sixteen threads search the scale of one block, each with every sixteenth weight, as the
// lanes of the host's sums do.
// Cost: 50 passes over a block, which stays in the cache; thresholds are searched by halves.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/columns.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/levels.cuh"

namespace cupel::kernels::cuda {
namespace {

using format::ScaleType;

constexpr int kTeam = 16;
constexpr int64_t kPiece = 256;  // of core::grid_error
constexpr int kThreads = 256;

struct LevelTable {
  float level[kMostLevels], threshold[kMostLevels];
};

/// GridLayout::scale_value.
__device__ float scale_value(ScaleType type, uint32_t bits) {
  switch (type) {
    case ScaleType::f32:
      return __uint_as_float(bits);
    case ScaleType::f16:
      return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    case ScaleType::e4m3: {
      const auto half = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), __NV_E4M3);
      return __half2float(__half(half));
    }
    case ScaleType::e8m0:
      return ldexpf(1.0f, static_cast<int>(bits) - 127);
    case ScaleType::multiplier:
      return static_cast<float>(bits);
    case ScaleType::none:
      break;
  }
  return 1.0f;
}

/// GridLayout::stored_scale.
__device__ uint32_t stored_scale(ScaleType type, float value) {
  switch (type) {
    case ScaleType::f32:
      return __float_as_uint(value);
    case ScaleType::f16:
      return __half_as_ushort(__float2half_rn(fminf(fmaxf(value, 0x1p-24f), 65504.0f)));
    case ScaleType::e4m3:
      return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
    case ScaleType::e8m0: {
      if (!(value > 0)) return 0;
      const auto exponent = static_cast<float>(log2(static_cast<double>(value)));
      return static_cast<uint32_t>(fminf(fmaxf(rintf(exponent), -127.0f), 127.0f) + 127);
    }
    case ScaleType::multiplier:
      return static_cast<uint32_t>(fminf(fmaxf(rintf(value), 1.0f), format::kLargestMultiplier));
    case ScaleType::none:
      break;
  }
  return 0;
}

/// Some rows and columns of a matrix, by the threads of one team; kernels/scale_choice.h asks it.
struct TeamBlock {
  ScaleType type;
  const LevelTable& table;
  int levels;
  const float *w, *weight;  ///< at the first number; weight may be null
  int64_t stride, weight_stride, width, numbers;
  int lane;
  unsigned team;

  __device__ uint32_t stored(float value) const { return stored_scale(type, value); }
  __device__ float value(uint32_t bits) const { return scale_value(type, bits); }

  __device__ int64_t place(int64_t i, int64_t row_stride) const {
    return numbers == width ? i : i / width * row_stride + i % width;
  }
  __device__ float number(int64_t i) const { return w[place(i, stride)]; }
  __device__ float weight_of(int64_t i) const {
    return weight ? weight[place(i, weight_stride)] : 1.0f;
  }
  __device__ float level_of(float t) const {
    return table.level[nearest_level(table.threshold, levels, t)];
  }
  /// The sum over lanes in their order, the same for all threads of the team.
  __device__ double over_lanes(double own) const {
    double total = 0;
    for (int l = 0; l < kTeam; ++l) total += __shfl_sync(team, own, l, kTeam);
    return total;
  }
  /// Calls use(w, weight, level) for this thread's numbers of each piece, and end() after it.
  template <class Use, class End>
  __device__ void for_pieces(float sign, float step, const Use& use, const End& end) const {
    const float inverse = step > 0 ? sign / step : 0.0f;
    for (int64_t first = 0; first < numbers; first += kPiece) {
      for (int64_t i = first + lane; i < min(first + kPiece, numbers); i += kTeam) {
        const float x = number(i);
        use(x, weight_of(i), sign * level_of(x * inverse));
      }
      end();
    }
  }
  __device__ double error(float sign, float step) const {
    double own = 0, total = 0;
    for_pieces(
        sign, step,
        [&](float x, float h, float level) {
          const float e = x - step * level;
          own += static_cast<double>(h * (e * e));
        },
        [&] {
          total += over_lanes(own);
          own = 0;
        });
    return total;
  }
  __device__ LevelProducts products(float sign, float step) const {
    double square = 0, product = 0;
    LevelProducts out;
    for_pieces(
        sign, step,
        [&](float x, float h, float level) {
          square += static_cast<double>(h * (level * level));
          product += static_cast<double>(h * (level * x));
        },
        [&] {
          out.weighted_level_square += over_lanes(square);
          out.weighted_product += over_lanes(product);
          square = product = 0;
        });
    return out;
  }
  __device__ float extreme() const {
    float largest = 0;
    for (int64_t i = lane; i < numbers; i += kTeam) largest = fmaxf(largest, fabsf(number(i)));
    for (int step = kTeam / 2; step > 0; step /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(team, largest, step, kTeam));
    return largest;
  }
};

__device__ StoredScale chosen(const GridFit& f, const TeamBlock& block, float outer) {
  const float extreme = block.extreme();
  if (!f.search || extreme == 0) return scale_of_extreme(f.kind, block, extreme, outer);
  const StoredScale least = searched(f.kind, block, extreme, outer);
  return f.kind.two_only || !is_free(f.kind.type) ? least : refitted(least, block, outer);
}

__global__ void fit(GridFit f) {
  __shared__ LevelTable table;
  for (int k = threadIdx.x; k < f.levels; k += blockDim.x) {
    table.level[k] = f.level[k];
    if (k + 1 < f.levels) table.threshold[k] = f.threshold[k];
  }
  __syncthreads();
  const int64_t groups = blocks_of(f.inputs, f.block_cols);
  const int64_t index = (blockIdx.x * int64_t{blockDim.x} + threadIdx.x) / kTeam;
  if (index >= groups * blocks_of(f.rows, f.block_rows)) return;
  const int64_t b = index / groups, row = b * f.block_rows, col = index % groups * f.block_cols;
  const int64_t width = min(f.block_cols, f.inputs - col);
  const TeamBlock block{f.kind.type,
                        table,
                        f.levels,
                        f.w_oi + row * f.inputs + col,
                        f.weight_oi ? f.weight_oi + row * f.weight_row_stride + col : nullptr,
                        f.inputs,
                        f.weight_row_stride,
                        width,
                        width * min(f.block_rows, f.rows - row),
                        static_cast<int>(threadIdx.x % kTeam),
                        0xffffu << (threadIdx.x % 32 / kTeam * kTeam)};
  const StoredScale s = chosen(f, block, f.outer_b ? f.outer_b[b * f.outer_stride] : 1.0f);
  if (block.lane != 0) return;
  f.bits_bg[index] = static_cast<int32_t>(s.bits);
  if (f.error_bg) f.error_bg[index] = s.error;
}

__global__ void add_up(int64_t rows, int64_t columns, const double* of, double* sum) {
  const int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= rows) return;
  double total = 0;
  for (int64_t c = 0; c < columns; ++c) total += of[row * columns + c];
  sum[row] = total;
}

}  // namespace

void fit_grid(const GridFit& f, int device) {
  check(cudaSetDevice(device), "choosing the device");
  const int64_t groups = blocks_of(f.inputs, f.block_cols);
  const int64_t blocks = blocks_of(f.rows, f.block_rows);
  fit<<<static_cast<unsigned>(blocks_of(blocks * groups * kTeam, kThreads)), kThreads>>>(f);
  check(cudaGetLastError(), "the search for scales");
  if (!f.error_b) return;
  add_up<<<static_cast<unsigned>(blocks_of(blocks, kThreads)), kThreads>>>(blocks, groups,
                                                                           f.error_bg, f.error_b);
  check(cudaGetLastError(), "adding up errors");
}

}  // namespace cupel::kernels::cuda
