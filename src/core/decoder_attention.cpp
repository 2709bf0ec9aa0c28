// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>

#include <limits>
#include <optional>

#include "base/error.h"
#include "core/decoder_parts.h"

namespace cupel::core {
namespace {

using format::Role;

/// Queries, keys and values [n, heads, t, d].
struct Heads {
  at::Tensor query, key, value;
};

/// Turns the first dimensions of x [n, heads, t, d] by the angles of rows [from, from + t).
at::Tensor rotate(const at::Tensor& x, const RopeTable& table, bool interleaved, int64_t from) {
  const int64_t t = x.size(2), half = table.cosine.size(1), dims = 2 * half;
  const at::Tensor c = table.cosine.slice(0, from, from + t);
  const at::Tensor s = table.sine.slice(0, from, from + t);
  const at::Tensor w = wide(x);
  const at::Tensor a = interleaved ? w.slice(-1, 0, dims, 2) : w.slice(-1, 0, half);
  const at::Tensor b = interleaved ? w.slice(-1, 1, dims, 2) : w.slice(-1, half, dims);
  const at::Tensor a2 = a * c - b * s, b2 = b * c + a * s;
  const at::Tensor turned =
      interleaved ? at::stack({a2, b2}, -1).flatten(-2) : at::cat({a2, b2}, -1);
  return (dims == x.size(3) ? turned : at::cat({turned, w.slice(-1, dims)}, -1))
      .to(x.scalar_type());
}

at::Tensor split_heads(const at::Tensor& x_nti, int64_t dim) {
  return x_nti.view({x_nti.size(0), x_nti.size(1), -1, dim}).transpose(1, 2);
}

/// Heads by three projections, with the norms and the clamp that some families have.
Heads project_heads(const LayerContext& layer, const at::Tensor& x) {
  const format::ModelConfig& c = layer.config;
  const auto one = [&](Role matrix, Role bias, Role norm, int64_t dim) {
    at::Tensor y = project(layer, x, matrix, bias, c.qkv_bias);
    const bool normed = norm != matrix && c.query_key_norm != format::QueryKeyNorm::none;
    const bool full = c.query_key_norm == format::QueryKeyNorm::full_width;
    if (normed && full) y = layer_norm(layer, y, norm);
    if (c.clip_qkv > 0) y = y.clamp(-c.clip_qkv, c.clip_qkv);
    y = split_heads(y, dim);
    return normed && !full ? layer_norm(layer, y, norm) : y;
  };
  return {one(Role::query, Role::query_bias, Role::query_norm, c.head_dim),
          one(Role::key, Role::key_bias, Role::key_norm, c.head_dim),
          one(Role::value, Role::value_bias, Role::value, c.values_dim())};
}

/// Low-rank heads (MLA), expanded: a key is its own part and the rotary part that all heads share.
std::optional<Heads> low_rank_heads(const LayerContext& layer, const at::Tensor& x,
                                    const RopeTable& rope, int64_t past) {
  const format::ModelConfig& c = layer.config;
  const format::LowRankAttention& l = c.low_rank;
  const bool interleaved = c.rope_of(layer.index).interleaved;
  at::Tensor q;
  if (l.query_rank > 0) {
    const at::Tensor down = multiply(layer, x, Role::query_a);
    const at::Tensor latent =
        rms_norm(down, layer.weights.of(Role::query_a_norm), format::kLowRankNormEps, false);
    if (!layer.tell(Role::query_b, latent)) return std::nullopt;
    q = multiply(layer, latent, Role::query_b);
  } else {
    q = multiply(layer, x, Role::query);
  }
  q = split_heads(q, c.head_dim);
  const at::Tensor kv = multiply(layer, x, Role::kv_a);
  const at::Tensor latent = rms_norm(kv.slice(-1, 0, l.kv_rank), layer.weights.of(Role::kv_a_norm),
                                     format::kLowRankNormEps, false);
  if (!layer.tell(Role::kv_b, latent)) return std::nullopt;
  const at::Tensor both =
      split_heads(multiply(layer, latent, Role::kv_b), l.nope_dim + c.values_dim());
  const at::Tensor shared = rotate(kv.slice(-1, l.kv_rank).unsqueeze(1), rope, interleaved, past);
  const at::Tensor turned = rotate(q.slice(-1, l.nope_dim), rope, interleaved, past);
  return Heads{at::cat({q.slice(-1, 0, l.nope_dim), turned}, -1),
               at::cat({both.slice(-1, 0, l.nope_dim), shared.expand_as(turned)}, -1),
               both.slice(-1, l.nope_dim)};
}

/// Appends to the cache and returns all keys and values.
void extend(KvCache* cache, int index, int layers, int64_t past, Heads& heads) {
  if (!cache) return;
  cache->keys.resize(static_cast<std::size_t>(layers));
  cache->values.resize(static_cast<std::size_t>(layers));
  at::Tensor& keys = cache->keys[static_cast<std::size_t>(index)];
  at::Tensor& values = cache->values[static_cast<std::size_t>(index)];
  keys = heads.key = past ? at::cat({keys, heads.key}, 2) : heads.key;
  values = heads.value = past ? at::cat({values, heads.value}, 2) : heads.value;
}

/// True where position past + t may see position s: itself, those before, within the window.
at::Tensor visible(int64_t t, int64_t past, int64_t window, at::Device device) {
  const at::TensorOptions options = at::TensorOptions(at::kLong).device(device);
  const at::Tensor query = at::arange(past, past + t, options).unsqueeze(1);
  const at::Tensor key = at::arange(past + t, options).unsqueeze(0);
  const at::Tensor causal = key <= query;
  return window > 0 ? causal.logical_and(key > query - window) : causal;
}

/// Scores with a cap or with sinks: written out, since the fused operator has neither.
at::Tensor attend_plainly(const LayerContext& layer, const Heads& heads, const at::Tensor& mask) {
  const format::ModelConfig& c = layer.config;
  const int64_t share = heads.query.size(1) / heads.key.size(1);
  const at::Tensor k = heads.key.repeat_interleave(share, 1);
  const at::Tensor v = heads.value.repeat_interleave(share, 1);
  at::Tensor scores = wide(at::matmul(heads.query, k.transpose(-1, -2))) * c.attention_scale();
  if (c.score_cap > 0) scores = at::tanh(scores / c.score_cap) * c.score_cap;
  scores = scores.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
  const int64_t keys = scores.size(-1);
  if (c.sinks) {
    const at::Tensor sinks = wide(layer.weights.of(Role::sinks)).view({1, -1, 1, 1});
    scores = at::cat({scores, sinks.expand({scores.size(0), -1, scores.size(2), 1})}, -1);
  }
  const at::Tensor weights = at::softmax(scores, -1).slice(-1, 0, keys);
  return at::matmul(weights.to(v.scalar_type()), v);
}

at::Tensor attend(const LayerContext& layer, const Heads& heads, int64_t past) {
  const format::ModelConfig& c = layer.config;
  const int64_t t = heads.query.size(2), window = c.kind(layer.index).window;
  const at::Device device = heads.query.device();
  const bool in_window = window == 0 || past + t <= window;
  if (c.score_cap > 0 || c.sinks)
    return attend_plainly(layer, heads, visible(t, past, window, device));
  std::optional<at::Tensor> mask;
  const bool causal = past == 0 && in_window;
  if (!causal && (t > 1 || !in_window)) mask = visible(t, past, window, device);
  return at::scaled_dot_product_attention(heads.query, heads.key, heads.value, mask,
                                          /*dropout_p=*/0.0, causal, c.attention_scale(),
                                          heads.query.size(1) != heads.key.size(1));
}

}  // namespace

at::Tensor attention(const LayerContext& layer, const at::Tensor& x_nth, const RopeTable& rope,
                     KvCache* cache) {
  const format::ModelConfig& c = layer.config;
  const int64_t n = x_nth.size(0), t = x_nth.size(1), past = cache ? cache->length : 0;
  const format::Rope& kind = c.rope_of(layer.index);
  CUPEL_CHECK(kind.type != "longrope" || past == 0 || past > kind.original_positions ||
                  past + t <= kind.original_positions,
              data, "a cached sequence grows beyond ", kind.original_positions,
              " positions, where longrope turns all keys anew; run it from its beginning");
  const at::Tensor x = c.pre_norm ? layer_norm(layer, x_nth, Role::attention_norm) : x_nth;
  Heads heads;
  if (c.is_low_rank()) {
    if (!layer.tell(c.low_rank.query_rank > 0 ? Role::query_a : Role::query, x)) return {};
    const auto found = low_rank_heads(layer, x, rope, past);
    if (!found) return {};
    heads = *found;
  } else {
    if (!layer.tell(Role::query, x)) return {};
    heads = project_heads(layer, x);
    if (c.kind(layer.index).rope) {
      heads.query = rotate(heads.query, rope, kind.interleaved, past);
      heads.key = rotate(heads.key, rope, kind.interleaved, past);
    }
  }
  extend(cache, layer.index, static_cast<int>(c.layers), past, heads);
  const at::Tensor y_nti = attend(layer, heads, past).transpose(1, 2).reshape({n, t, -1});
  if (!layer.tell(Role::output, y_nti)) return {};
  return project(layer, y_nti, Role::output, Role::output_bias, c.output_bias);
}

}  // namespace cupel::core
