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

/// One KV head.
struct HeadView {
  const KvView& kv;
  int64_t head;
  const uint8_t* key(int64_t position) const { return at(kv.keys, kv.head_dim, position); }
  const uint8_t* value(int64_t position) const { return at(kv.values, kv.value_dim, position); }

 private:
  const uint8_t* at(const void* plane, int64_t dim, int64_t position) const {
    return static_cast<const uint8_t*>(plane) +
           (position * kv.kv_heads + head) * kv_head_bytes(kv.type, dim);
  }
};

/// Softmax weights of a chunk of n positions relative to the chunk's maximum.
struct ChunkWeights {
  float values[kChunk];
  float maximum = -std::numeric_limits<float>::infinity();
  float sum = 0.0F;
};

/// `q` is the head's.
void weigh(const AttentionQuery& query, const float* q, const HeadView& head, int64_t begin,
           int64_t n, ChunkWeights& w) {
  for (int64_t p = 0; p < n; ++p) {
    LaneSums dot;
    const uint8_t* key = head.key(begin + p);
    for (int64_t d = 0; d < head.kv.head_dim; ++d)
      dot.add_product(d, kv_code(head.kv.type, key, d), q[d]);
    w.values[p] = dot.total() * kv_factor(head.kv.type, key) * query.scale;
    if (query.cap > 0) w.values[p] = capped(w.values[p], query.cap);
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
  for (int64_t from = 0; from < head.kv.value_dim; from += kSlice) {
    const int64_t dims = std::min(kSlice, head.kv.value_dim - from);
    float sums[kSlice] = {};
    for (int64_t p = 0; p < n; ++p) {
      const uint8_t* value = head.value(begin + p);
      const float weight = w.values[p] * kv_factor(head.kv.type, value);
      for (int64_t d = 0; d < dims; ++d)
        sums[d] = std::fma(weight, kv_code(head.kv.type, value, from + d), sums[d]);
    }
    for (int64_t d = 0; d < dims; ++d) out[from + d] = std::fma(out[from + d], keep, sums[d] * add);
  }
}

void attend(const AttentionQuery& query, const HeadView& head, int64_t h, float* out) {
  const int64_t width = head.kv.value_dim;
  std::fill_n(out, width, 0.0F);
  float maximum = -std::numeric_limits<float>::infinity(), sum = 0.0F;
  for (int64_t begin = query.begin; begin < query.end; begin += kChunk) {
    const int64_t n = std::min(kChunk, query.end - begin);
    ChunkWeights w;
    weigh(query, query.q + h * head.kv.head_dim, head, begin, n, w);
    const float higher = std::max(maximum, w.maximum);
    const float keep = exponential(maximum - higher), add = exponential(w.maximum - higher);
    merge(head, begin, n, w, keep, add, out);
    sum = sum * keep + w.sum * add;
    maximum = higher;
  }
  if (query.sinks) {
    const float higher = std::max(maximum, query.sinks[h]), keep = exponential(maximum - higher);
    sum = sum * keep + exponential(query.sinks[h] - higher);
    for (int64_t d = 0; d < width; ++d) out[d] *= keep;
  }
  for (int64_t d = 0; d < width; ++d) out[d] /= sum;
}

}  // namespace

void attention(const AttentionQuery& query, const KvView& kv, float* out, int64_t head_begin,
               int64_t head_end) {
  for (int64_t h = head_begin; h < head_end; ++h)
    attend(query, {kv, h / (query.heads / kv.kv_heads)}, h, out + h * kv.value_dim);
}

}  // namespace cupel::kernels::scalar
