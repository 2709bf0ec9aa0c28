// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Attention over Vec, up to four query heads of one KV head at a time so that keys and values are read and converted
// once for them. The sums of a head do not depend on the heads beside it.

namespace cupel::kernels {
namespace {

constexpr int64_t kAttentionChunk = 256;   // positions
constexpr int kSums = 8;                   // accumulators in flight
constexpr int kSumLanes = kParts * kLanes;

/// `heads` query heads of one KV head: q lie head_dim apart, out value_dim.
struct HeadGroup {
  const float* q;
  float* out;
  const uint8_t* keys;     ///< of position 0
  const uint8_t* values;
  int64_t key_stride, value_stride;   ///< bytes from one position to the next
  int64_t head_dim, value_dim;
  float scale, cap;
  const float* sinks;   ///< of these heads, or null
};

template <int heads>
struct Softmax {
  alignas(64) float weights[heads][kAttentionChunk];
  float chunk_max[heads], chunk_sum[heads];
  float maximum[heads], sum[heads];
};

inline float exponential(float x) { return first_lane(exponential(splat(x))); }

/// Scaled scores of n positions into s.weights.
template <class Head, int heads>
void score(const HeadGroup& g, int64_t begin, int64_t n, Softmax<heads>& s) {
  constexpr int kPositions = kScores / heads;
  const int64_t whole = g.head_dim - g.head_dim % kSumLanes;
  for (int64_t p = 0; p < n; p += kPositions) {
    const uint8_t* key[kPositions];
    for (int i = 0; i < kPositions; ++i) key[i] = g.keys + (begin + (p + i < n ? p + i : n - 1)) * g.key_stride;
    Vec sums[kScores][kParts];
    for (auto& sum : sums)
      for (Vec& part : sum) part = zeros();
    const auto step = [&](int part, auto load_key, auto load_query) {
      for (int i = 0; i < kPositions; ++i) {
        const Vec k = load_key(Head(key[i]));
        for (int h = 0; h < heads; ++h) {
          Vec& sum = sums[h * kPositions + i][part];
          sum = fma(k, load_query(g.q + h * g.head_dim), sum);
        }
      }
    };
    for (int64_t d = 0; d < whole; d += kSumLanes)
      for (int part = 0; part < kParts; ++part) {
        const int64_t at = d + part * kLanes;
        step(part, [at](Head k) { return k.load(at); }, [at](const float* q) { return load(q + at); });
      }
    for (int part = 0; part < kParts; ++part) {
      const int64_t at = whole + part * kLanes, rest = g.head_dim - at;
      if (rest <= 0) break;
      step(part, [=](Head k) { return k.load_first(at, rest); },
           [=](const float* q) { return load_first(q + at, rest); });
    }
    float scores[kScores];
    lane_sums(sums, scores);
    for (int i = 0; i < kPositions && p + i < n; ++i)
      for (int h = 0; h < heads; ++h) {
        float& sum = scores[h * kPositions + i];
        if constexpr (Head::kFactor) sum *= Head::factor(key[i]);
        s.weights[h][p + i] = sum * g.scale;
      }
  }
}

/// Scores to softmax weights relative to the chunk's maximum, zeros up to a whole vector.
inline void weigh(float* weights, int64_t n, float* maximum, float* sum) {
  const float lowest = -__builtin_inff();
  const int64_t whole = n - n % kLanes, rest = n - whole;
  if (rest > 0) store(weights + whole, pick_first(load(weights + whole), splat(lowest), rest));
  Vec high = splat(lowest);
  for (int64_t i = 0; i < n; i += kLanes) high = larger(high, load(weights + i));
  *maximum = lane_max(high);
  Vec total[kParts];
  for (Vec& part : total) part = zeros();
  const auto step = [&](int64_t i, Vec& part) {
    Vec w = exponential(load(weights + i) - splat(*maximum));
    if (n - i < kLanes) w = pick_first(w, zeros(), n - i);
    store(weights + i, w);
    part = part + w;
  };
  for (int64_t i = 0; i < n; i += kSumLanes)
    for (int part = 0; part < kParts && i + part * kLanes < n; ++part) step(i + part * kLanes, total[part]);
  *sum = lane_sum(total);
}

/// out = out * keep + add * (weights x values) for `vectors` vectors of dimensions from d on.
template <class Head, int heads, int vectors, bool partial>
void merge_slice(const HeadGroup& g, int64_t begin, int64_t n, int64_t d, const Softmax<heads>& s, const float* keep,
                 const float* add) {
  const int64_t rest = g.value_dim - d;
  const uint8_t* value = g.values + begin * g.value_stride;
  Vec sums[heads][vectors];
  for (auto& of_head : sums)
    for (Vec& sum : of_head) sum = zeros();
  for (int64_t p = 0; p < n; ++p, value += g.value_stride) {
    for (int v = 0; v < vectors; ++v) {
      const Vec in = partial ? Head(value).load_first(d, rest) : Head(value).load(d + v * kLanes);
      for (int h = 0; h < heads; ++h) sums[h][v] = fma(splat(s.weights[h][p]), in, sums[h][v]);
    }
  }
  for (int h = 0; h < heads; ++h) {
    float* out = g.out + h * g.value_dim + d;
    for (int v = 0; v < vectors; ++v) {
      const Vec before = partial ? load_first(out, rest) : load(out + v * kLanes);
      const Vec after = fma(before, splat(keep[h]), sums[h][v] * splat(add[h]));
      partial ? store_first(out, after, rest) : store(out + v * kLanes, after);
    }
  }
}

/// Weights times the factors of their values.
template <class Head, int heads>
void take_factors(const HeadGroup& g, int64_t begin, int64_t n, Softmax<heads>& s) {
  const uint8_t* value = g.values + begin * g.value_stride;
  for (int64_t p = 0; p < n; ++p, value += g.value_stride)
    for (int h = 0; h < heads; ++h) s.weights[h][p] *= Head::factor(value);
}

template <class Head, int heads>
void merge(const HeadGroup& g, int64_t begin, int64_t n, Softmax<heads>& s) {
  float keep[heads], add[heads];
  for (int h = 0; h < heads; ++h) {
    const float higher = s.maximum[h] > s.chunk_max[h] ? s.maximum[h] : s.chunk_max[h];
    keep[h] = exponential(s.maximum[h] - higher);
    add[h] = exponential(s.chunk_max[h] - higher);
    s.sum[h] = s.sum[h] * keep[h] + s.chunk_sum[h] * add[h];
    s.maximum[h] = higher;
  }
  if constexpr (Head::kFactor) take_factors<Head, heads>(g, begin, n, s);
  constexpr int kVectors = kSums / heads;
  int64_t d = 0;
  for (; d + kVectors * kLanes <= g.value_dim; d += kVectors * kLanes)
    merge_slice<Head, heads, kVectors, false>(g, begin, n, d, s, keep, add);
  for (; d + kLanes <= g.value_dim; d += kLanes)
    merge_slice<Head, heads, 1, false>(g, begin, n, d, s, keep, add);
  if (d < g.value_dim) merge_slice<Head, heads, 1, true>(g, begin, n, d, s, keep, add);
}

/// Divides by the sums, which the sinks join here.
template <int heads>
void normalise(const HeadGroup& g, Softmax<heads>& s) {
  for (int h = 0; h < heads; ++h) {
    float* out = g.out + h * g.value_dim;
    if (g.sinks != nullptr) {
      const float higher = s.maximum[h] > g.sinks[h] ? s.maximum[h] : g.sinks[h];
      const float keep = exponential(s.maximum[h] - higher);
      s.sum[h] = s.sum[h] * keep + exponential(g.sinks[h] - higher);
      for (int64_t d = 0; d < g.value_dim; ++d) out[d] *= keep;
    }
    for (int64_t d = 0; d < g.value_dim; ++d) out[d] /= s.sum[h];
  }
}

template <class Head, int heads>
void attend(const HeadGroup& g, int64_t first, int64_t end) {
  Softmax<heads> s;
  for (int h = 0; h < heads; ++h) {
    s.maximum[h] = -__builtin_inff();
    s.sum[h] = 0.0F;
  }
  for (int64_t i = 0; i < heads * g.value_dim; ++i) g.out[i] = 0.0F;
  for (int64_t begin = first; begin < end; begin += kAttentionChunk) {
    const int64_t n = end - begin < kAttentionChunk ? end - begin : kAttentionChunk;
    score<Head, heads>(g, begin, n, s);
    for (int h = 0; h < heads; ++h) {
      if (g.cap > 0) cap(s.weights[h], n, g.cap);
      weigh(s.weights[h], n, s.chunk_max + h, s.chunk_sum + h);
    }
    merge<Head, heads>(g, begin, n, s);
  }
  normalise(g, s);
}

template <class Head>
void attention_of(const AttentionQuery& query, const KvView& kv, float* out, int64_t head_begin, int64_t head_end) {
  const int64_t per_kv = query.heads / kv.kv_heads;
  const int64_t key_bytes = kv_head_bytes(kv.type, kv.head_dim), value_bytes = kv_head_bytes(kv.type, kv.value_dim);
  for (int64_t h = head_begin; h < head_end;) {
    const int64_t kv_head = h / per_kv, last = (kv_head + 1) * per_kv;
    const int64_t left = (last < head_end ? last : head_end) - h;
    const HeadGroup group{.q = query.q + h * kv.head_dim,
                          .out = out + h * kv.value_dim,
                          .keys = static_cast<const uint8_t*>(kv.keys) + kv_head * key_bytes,
                          .values = static_cast<const uint8_t*>(kv.values) + kv_head * value_bytes,
                          .key_stride = kv.kv_heads * key_bytes,
                          .value_stride = kv.kv_heads * value_bytes,
                          .head_dim = kv.head_dim,
                          .value_dim = kv.value_dim,
                          .scale = query.scale,
                          .cap = query.cap,
                          .sinks = query.sinks == nullptr ? nullptr : query.sinks + h};
    const int64_t take = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    if (take == 4) attend<Head, 4>(group, query.begin, query.end);
    if (take == 2) attend<Head, 2>(group, query.begin, query.end);
    if (take == 1) attend<Head, 1>(group, query.begin, query.end);
    h += take;
  }
}

void attention(const AttentionQuery& query, const KvView& kv, float* out, int64_t head_begin, int64_t head_end) {
  switch (kv.type) {
    case KvType::f16: return attention_of<PlainHead<F16>>(query, kv, out, head_begin, head_end);
    case KvType::f32: return attention_of<PlainHead<F32>>(query, kv, out, head_begin, head_end);
    case KvType::int8: return attention_of<Int8Head>(query, kv, out, head_begin, head_end);
    case KvType::int4: return attention_of<Int4Head>(query, kv, out, head_begin, head_end);
    case KvType::fp8: return attention_of<Fp8Head>(query, kv, out, head_begin, head_end);
  }
}

}  // namespace
}  // namespace cupel::kernels
