// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>

#include "format/element_type.h"
#include "format/grid_layout.h"
#include "kernels/activations.h"
#include "kernels/isa.h"
#include "kernels/kv_row.h"
#include "kernels/row_transform.h"

namespace cupel::kernels {

/// A packed matrix of integers with scales, as format::UniformLayout and format::GridLayout store
/// it (legend: o outputs, i inputs, g groups): weight = (number(code) - zero) * scale * unit *
/// outer, where number(code) is the code itself or its entry in a table.
struct CodedMatrix {
  int bits = 4;
  int64_t rows = 0, cols = 0;
  int64_t group = 64;              ///< inputs per scale (the row width for "row")
  const uint8_t* codes = nullptr;  ///< [stripes, chunks, bits * 64]
  const uint8_t* table = nullptr;  ///< [64] numbers of the codes, for at most 6 bits; or null
  format::ScaleType scale_type = format::ScaleType::f16;  ///< f16, e4m3, e8m0 or multiplier
  const void* scales = nullptr;  ///< [stripes, g, 16]; multipliers [stripes, g, 8] (grid_layout.h)
  const uint8_t* zeros = nullptr;  ///< [stripes, g, 16], or null: `zero` everywhere
  int zero = 0;
  float unit = 1;                  ///< of the whole matrix
  const float* outer_o = nullptr;  ///< [o]; null: 1
};

/// A plain matrix, row major [rows, cols], f32, f16 or bf16.
struct DenseMatrix {
  format::ElementType type = format::ElementType::f32;
  int64_t rows = 0, cols = 0;
  const void* values = nullptr;
};

/// Keys [positions, kv_heads, head_dim] and values [positions, kv_heads, value_dim] of one layer
/// and one sequence, each head as kv_row.h says.
struct KvView {
  KvType type = KvType::f16;
  const void* keys = nullptr;
  const void* values = nullptr;
  int64_t kv_heads = 0, head_dim = 0, value_dim = 0;
};

/// One query position: its heads, what they see, and how their scores become weights.
struct AttentionQuery {
  const float* q = nullptr;  ///< [heads, head_dim]
  int64_t heads = 0;
  int64_t begin = 0, end = 0;    ///< positions that it sees
  float scale = 1;               ///< of q k
  float cap = 0;                 ///< scores become cap tanh(score / cap); 0: they stay
  const float* sinks = nullptr;  ///< [heads]: a score more in the softmax, without a value; or null
};

/// A rotary embedding at one position: pairs of the first `dims` dimensions of a head turn, the
/// rest stays.
struct Rotation {
  const float* cosine = nullptr;  ///< [dims / 2]
  const float* sine = nullptr;
  int64_t dims = 0;
  bool interleaved = false;  ///< pairs (2i, 2i + 1) instead of (i, i + dims / 2)
};

/// The CPU kernels of one instruction set. Every function is pure, thread-safe, and gives results
/// that depend neither on m nor on how the caller splits rows over threads.
///
/// Every kernel gives the same bits at every level, because its sums have one order. For packed
/// codes: blocks of QuantizedInput in order,
///   acc = fma((w_scale * outer) * (x_scale * unit), float(isum - zero * sum), acc)
/// with isum the exact integer product of numbers and (254 q1 +) q2, segments of 1024 inputs (a
/// longer group is a segment of its own) summed on their own and added in order. For plain numbers:
/// 16 lanes, lane j takes the terms j, j + 16, ... (products by fma), then lane j + 8 is added to
/// lane j, and the eight as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)). Sums of squares: 8 lanes of
/// float64, lane j + 4 added to lane j, then (0 + 2) + (1 + 3). Exponentials and all that is made
/// of them: one sequence of operations each (functions.inl).
struct CpuKernels {
  Isa isa = Isa::scalar;

  /// Rows of x [m, k] (stride ldx) to int8 blocks in the caller's buffers (those of `out`, which
  /// are written). Round half to even.
  void (*quantize)(const float* x, int64_t ldx, const QuantizedInput& out) = nullptr;

  /// y[r, o] for all rows r of x and outputs of stripes [stripe_begin, stripe_end) (16 outputs
  /// each; padded ones are not written). y has row stride ldy.
  void (*coded)(const CodedMatrix& w, const QuantizedInput& x, float* y, int64_t ldy,
                int64_t stripe_begin, int64_t stripe_end) = nullptr;

  /// y[r, o] = sum_i w[o, i] x[r, i] in float32, outputs [row_begin, row_end).
  void (*dense)(const DenseMatrix& w, const float* x, int64_t ldx, int64_t m, float* y, int64_t ldy,
                int64_t row_begin, int64_t row_end) = nullptr;

  /// out = x / sqrt(mean(x^2) + eps) * weight, one row of n.
  void (*rms_norm)(const float* x, const float* weight, float eps, float* out, int64_t n) = nullptr;

  /// a = silu(a) * b, n numbers.
  void (*silu_mul)(float* a, const float* b, int64_t n) = nullptr;

  /// a = gelu(a) * b; the approximation by tanh, and the definition by the normal distribution.
  void (*gelu_tanh_mul)(float* a, const float* b, int64_t n) = nullptr;
  void (*gelu_mul)(float* a, const float* b, int64_t n) = nullptr;

  /// a = (b' + 1) a' sigmoid(alpha a'), where a' = min(a, limit), b' = b clamped to +-limit.
  void (*clamped_swiglu)(float* a, const float* b, int64_t n, float alpha, float limit) = nullptr;

  /// x = cap tanh(x / cap), n numbers.
  void (*cap)(float* x, int64_t n, float cap) = nullptr;

  /// In place, n numbers.
  void (*sigmoid)(float* x, int64_t n) = nullptr;
  void (*softmax)(float* x, int64_t n) = nullptr;

  /// Rotary embedding of `heads` heads in place; their first dimensions lie `stride` apart.
  void (*rope)(float* x, int64_t heads, int64_t stride, const Rotation& rotation) = nullptr;

  /// A row of n inputs in place: the runtime side of format::InputTransform, to the bit.
  void (*transform)(float* x, int64_t n, const RowTransform& t) = nullptr;

  /// Attention of one position, query heads [head_begin, head_end) (head h reads KV head
  /// h / (heads / kv_heads)): out is [heads, value_dim]. Positions in chunks of 256 from
  /// query.begin on with running maximum and sum, merged in order, the sink last: the result
  /// depends on the query and what it sees alone, not on batch, chunking or cache. A head's factor
  /// multiplies the sum of q and codes, before the scale; a value's its weights, after their sum.
  void (*attention)(const AttentionQuery& query, const KvView& kv, float* out, int64_t head_begin,
                    int64_t head_end) = nullptr;

  /// n numbers to the cache's f16.
  void (*to_f16)(const float* x, uint16_t* out, int64_t n) = nullptr;

  /// The packed types of the cache (kv_row.h).
  void (*pack_kv)(KvType type, const float* x, int64_t heads, int64_t dim, uint8_t* out) = nullptr;
};

/// The table of an instruction set; every entry is filled. Fault::environment if the processor
/// lacks it.
const CpuKernels& cpu_kernels(Isa isa);

}  // namespace cupel::kernels
