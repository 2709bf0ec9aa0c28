// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/levels.h"
#include "kernels/cpu/scalar_math.h"

namespace cupel::kernels::scalar {
namespace {

constexpr int64_t kChunk = 256;  // positions, see CpuKernels::attention
constexpr int64_t kSlice = 64;   // dimensions of the output that are summed together

/// One KV head: element d of position p lies at offset (p * kv_heads + head) * head_dim + d.
struct HeadView {
  const KvView& kv;
  int64_t head;
  float at(const void* plane, int64_t position, int64_t d) const {
    const int64_t i = (position * kv.kv_heads + head) * kv.head_dim + d;
    if (kv.type == format::ElementType::f16)
      return format::f16_to_f32(static_cast<const uint16_t*>(plane)[i]);
    return static_cast<const float*>(plane)[i];
  }
};

/// Softmax weights of a chunk of n positions relative to the chunk's maximum.
struct ChunkWeights {
  float values[kChunk];
  float maximum = -std::numeric_limits<float>::infinity();
  float sum = 0.0F;
};

void weigh(const float* q, const HeadView& head, int64_t begin, int64_t n, float scale,
           ChunkWeights& w) {
  for (int64_t p = 0; p < n; ++p) {
    LaneSums dot;
    for (int64_t d = 0; d < head.kv.head_dim; ++d)
      dot.add_product(d, head.at(head.kv.keys, begin + p, d), q[d]);
    w.values[p] = dot.total() * scale;
    w.maximum = std::max(w.maximum, w.values[p]);
  }
  LaneSums sum;
  for (int64_t p = 0; p < n; ++p) {
    w.values[p] = exponential(w.values[p] - w.maximum);
    sum.add(p, w.values[p]);
  }
  w.sum = sum.total();
}

/// out = out * keep + add * (weights x values), dimension by dimension.
void merge(const HeadView& head, int64_t begin, int64_t n, const ChunkWeights& w, float keep,
           float add, float* out) {
  for (int64_t from = 0; from < head.kv.head_dim; from += kSlice) {
    const int64_t dims = std::min(kSlice, head.kv.head_dim - from);
    float sums[kSlice] = {};
    for (int64_t p = 0; p < n; ++p)
      for (int64_t d = 0; d < dims; ++d)
        sums[d] = std::fma(w.values[p], head.at(head.kv.values, begin + p, from + d), sums[d]);
    for (int64_t d = 0; d < dims; ++d) out[from + d] = std::fma(out[from + d], keep, sums[d] * add);
  }
}

}  // namespace

void attention(const float* q, const KvView& kv, int64_t count, int64_t heads, float softmax_scale,
               float* out, int64_t head_begin, int64_t head_end) {
  const int64_t dim = kv.head_dim;
  for (int64_t h = head_begin; h < head_end; ++h) {
    const HeadView head{kv, h / (heads / kv.kv_heads)};
    float* o = out + h * dim;
    std::fill_n(o, dim, 0.0F);
    float maximum = -std::numeric_limits<float>::infinity(), sum = 0.0F;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t n = std::min(kChunk, count - begin);
      ChunkWeights w;
      weigh(q + h * dim, head, begin, n, softmax_scale, w);
      const float higher = std::max(maximum, w.maximum);
      const float keep = exponential(maximum - higher), add = exponential(w.maximum - higher);
      merge(head, begin, n, w, keep, add, o);
      sum = sum * keep + w.sum * add;
      maximum = higher;
    }
    for (int64_t d = 0; d < dim; ++d) o[d] /= sum;
  }
}

}  // namespace cupel::kernels::scalar
