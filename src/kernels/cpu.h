// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>

#include "format/element_type.h"
#include "kernels/activations.h"
#include "kernels/isa.h"

namespace cupel::kernels {

/// A packed uniform matrix as format::UniformLayout stores it (legend: o outputs, i inputs, g
/// groups).
struct UniformMatrix {
  int bits = 4;
  int64_t rows = 0, cols = 0;
  int64_t group = 64;                ///< inputs per scale (the row width for "row")
  const uint8_t* codes = nullptr;    ///< [stripes, chunks, bits * 64]
  const uint16_t* scales = nullptr;  ///< f16 [stripes, g, 16]
  const uint8_t* zeros = nullptr;  ///< [stripes, g, 16], nullptr when symmetric (zero = 2^(bits-1))
};

/// A plain matrix, row major [rows, cols], f32, f16 or bf16.
struct DenseMatrix {
  format::ElementType type = format::ElementType::f32;
  int64_t rows = 0, cols = 0;
  const void* values = nullptr;
};

/// Keys and values of one layer and one sequence: [positions, kv_heads, head_dim], f32 or f16.
struct KvView {
  format::ElementType type = format::ElementType::f16;
  const void* keys = nullptr;
  const void* values = nullptr;
  int64_t kv_heads = 0, head_dim = 0;
};

/// The CPU kernels of one instruction set. Every function is pure, thread-safe, and gives results
/// that depend neither on m nor on how the caller splits rows over threads.
///
/// Every kernel gives the same bits at every level, because its sums have one order. For packed
/// codes: blocks of QuantizedInput in order,
///   acc = fma(w_scale * x_scale, float(isum - zero * sum), acc)
/// with isum the exact integer product of codes and (254 q1 +) q2, segments of 1024 inputs (a
/// longer group is a segment of its own) summed on their own and added in order. For plain numbers:
/// 16 lanes, lane j takes the terms j, j + 16, ... (products by fma), then lane j + 8 is added to
/// lane j, and the eight as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)). Sums of squares: 8 lanes of
/// float64, lane j + 4 added to lane j, then (0 + 2) + (1 + 3). Exponentials: one polynomial.
struct CpuKernels {
  Isa isa = Isa::scalar;

  /// Rows of x [m, k] (stride ldx) to int8 blocks in the caller's buffers (those of `out`, which
  /// are written). Round half to even.
  void (*quantize)(const float* x, int64_t ldx, const QuantizedInput& out) = nullptr;

  /// y[r, o] for all rows r of x and outputs of stripes [stripe_begin, stripe_end) (16 outputs
  /// each; padded ones are not written). y has row stride ldy.
  void (*uniform)(const UniformMatrix& w, const QuantizedInput& x, float* y, int64_t ldy,
                  int64_t stripe_begin, int64_t stripe_end) = nullptr;

  /// y[r, o] = sum_i w[o, i] x[r, i] in float32, outputs [row_begin, row_end).
  void (*dense)(const DenseMatrix& w, const float* x, int64_t ldx, int64_t m, float* y, int64_t ldy,
                int64_t row_begin, int64_t row_end) = nullptr;

  /// out = x / sqrt(mean(x^2) + eps) * weight, one row of n.
  void (*rms_norm)(const float* x, const float* weight, float eps, float* out, int64_t n) = nullptr;

  /// a = silu(a) * b, n numbers.
  void (*silu_mul)(float* a, const float* b, int64_t n) = nullptr;

  /// Half-split rotary embedding of `heads` heads in place: x [heads, head_dim]; cosine and sine
  /// [head_dim / 2].
  void (*rope)(float* x, int64_t heads, int64_t head_dim, const float* cosine,
               const float* sine) = nullptr;

  /// Orthonormal Hadamard transform in blocks of `block`, after optional signs [n] and scale [n]
  /// (either may be null): the runtime side of format::InputTransform.
  void (*transform)(float* x, int64_t n, int block, const int8_t* signs,
                    const float* scale) = nullptr;

  /// Attention of one query position over positions [0, count) for query heads [head_begin,
  /// head_end) (head h reads KV head h / (heads / kv_heads)): q and out are [heads, head_dim]. Keys
  /// in chunks of 256 positions with running maximum and sum, merged in order: the result depends
  /// on q, K and V alone, not on batch, chunking or cache.
  void (*attention)(const float* q, const KvView& kv, int64_t count, int64_t heads,
                    float softmax_scale, float* out, int64_t head_begin,
                    int64_t head_end) = nullptr;

  /// n numbers to and from the cache's f16.
  void (*to_f16)(const float* x, uint16_t* out, int64_t n) = nullptr;
};

/// The table of an instruction set; every entry is filled. Fault::environment if the processor
/// lacks it.
const CpuKernels& cpu_kernels(Isa isa);

}  // namespace cupel::kernels
