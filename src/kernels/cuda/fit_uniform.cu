// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: sixteen threads search the range of one group, each with every sixteenth weight, as the
// lanes of the host's loop do.
// Cost: 100 passes over a group, which stays in the cache.
#include <cuda_fp16.h>

#include <cmath>

#include "kernels/cuda/columns.h"
#include "kernels/cuda/launch.cuh"

namespace cupel::kernels::cuda {
namespace {

// The search of core::UniformFitter.
constexpr int kTeam = 16;
constexpr int kShrinkSteps = 100;
constexpr float kSmallestShrink = 0.2f;
constexpr float kSmallestHalf = 0x1p-24f, kLargestHalf = 65504.0f;

struct IntegerGrid {
  float scale, step, zero, low, high;
};

__device__ float clamped(float x, float low, float high) {
  return fminf(fmaxf(x, low), high);
}

__device__ IntegerGrid grid_over(float low, float high, float top, bool symmetric) {
  const float middle = (top + 1) / 2;
  const float range =
      symmetric ? fmaxf(-low, high) / fmaxf(middle - 1, 1.0f) : (high / 2 - low / 2) / (top / 2);
  IntegerGrid g;
  g.scale = 1;
  g.step = INFINITY;
  if (range != 0)
    g.scale = g.step = __half2float(__float2half_rn(clamped(range, kSmallestHalf, kLargestHalf)));
  g.zero = symmetric ? middle : clamped(rintf(-low / g.step), 0.0f, top);
  g.low = -g.zero;
  g.high = top - g.zero;
  return g;
}

/// One group of one row; `weight` may be null.
struct Group {
  const float *w, *weight;
  int64_t n;
};

/// The same for all threads of the team: lane sums, then their sum in order.
__device__ float error_of(const Group& group, const IntegerGrid& g, int lane, unsigned team) {
  const float inverse = 1 / g.step;
  float own = 0;
  for (int64_t i = lane; i < group.n; i += kTeam) {
    const float k = rintf(clamped(group.w[i] * inverse, g.low, g.high));
    const float e = group.w[i] - g.scale * k;
    own += (group.weight ? group.weight[i] : 1.0f) * (e * e);
  }
  float total = 0;
  for (int l = 0; l < kTeam; ++l) total += __shfl_sync(team, own, l, kTeam);
  return total;
}

__device__ IntegerGrid search(const Group& group, float low, float high, float top, bool symmetric,
                              int lane, unsigned team) {
  IntegerGrid best = grid_over(low, high, top, symmetric);
  if (isinf(best.step)) return best;
  float least = error_of(group, best, lane, team);
  float last_scale = best.scale, last_zero = best.zero;
  for (int k = 1; k < kShrinkSteps; ++k) {
    const float shrink = 1 - (1 - kSmallestShrink) * static_cast<float>(k) / kShrinkSteps;
    const IntegerGrid grid = grid_over(low * shrink, high * shrink, top, symmetric);
    if (grid.scale == last_scale && grid.zero == last_zero) continue;
    last_scale = grid.scale;
    last_zero = grid.zero;
    const float error = error_of(group, grid, lane, team);
    if (!(error < least)) continue;
    least = error;
    best = grid;
  }
  return best;
}

__global__ void fit(UniformFit f) {
  const int64_t groups = blocks_of(f.inputs, f.group_width);
  const int64_t index = (blockIdx.x * int64_t{blockDim.x} + threadIdx.x) / kTeam;
  if (index >= groups * f.rows) return;
  const int lane = threadIdx.x % kTeam;
  const unsigned team = 0xffffu << (threadIdx.x % 32 / kTeam * kTeam);
  const int64_t row = index / groups, g = index % groups, first = g * f.group_width;
  const Group group{f.w_oi + row * f.inputs + first,
                    f.weight_oi ? f.weight_oi + row * f.weight_row_stride + first : nullptr,
                    min(f.group_width, f.inputs - first)};
  float low = 0, high = 0;
  for (int64_t i = lane; i < group.n; i += kTeam) {
    low = fminf(low, group.w[i]);
    high = fmaxf(high, group.w[i]);
  }
  for (int step = kTeam / 2; step > 0; step /= 2) {
    low = fminf(low, __shfl_xor_sync(team, low, step, kTeam));
    high = fmaxf(high, __shfl_xor_sync(team, high, step, kTeam));
  }
  const IntegerGrid best = f.search ? search(group, low, high, f.top, f.symmetric, lane, team)
                                    : grid_over(low, high, f.top, f.symmetric);
  if (lane != 0) return;
  f.scale_go[g * f.rows + row] = best.scale;
  f.step_go[g * f.rows + row] = best.step;
  f.zero_go[g * f.rows + row] = best.zero;
}

}  // namespace

void fit_uniform(const UniformFit& f, int device) {
  check(cudaSetDevice(device), "choosing the device");
  constexpr int64_t kThreads = 256;
  const int64_t threads = blocks_of(f.inputs, f.group_width) * f.rows * kTeam;
  fit<<<static_cast<unsigned>(blocks_of(threads, kThreads)), kThreads>>>(f);
  check(cudaGetLastError(), "the search for scales");
}

}  // namespace cupel::kernels::cuda
