// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The forward pass. Axes: n sequences, t new positions, s all positions (cache included), h hidden,
// d head dimension.

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "core/model.h"

namespace cupel::core {
namespace {

using format::Role;

/// Half types as float32; float32 and float64 as they are.
at::Tensor wide(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  return type == at::kFloat || type == at::kDouble ? x : x.to(at::kFloat);
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight_h, double eps) {
  const at::Tensor w = wide(x);
  const at::Tensor scale = at::rsqrt(w.square().mean(-1, /*keepdim=*/true) + eps);
  return weight_h * (w * scale).to(x.scalar_type());
}

/// Rotates the pairs (j, j + d/2) of x [n, heads, t, d] by the angles of rows [from, from + t).
at::Tensor rotate(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                  int64_t from) {
  const int64_t t = x.size(2), half = x.size(3) / 2;
  const at::Tensor c = cosine.slice(0, from, from + t), s = sine.slice(0, from, from + t);
  const at::Tensor w = wide(x);
  const at::Tensor a = w.slice(-1, 0, half), b = w.slice(-1, half);
  return at::cat({a * c - b * s, b * c + a * s}, -1).to(x.scalar_type());
}

/// What each of t new positions may see of past + t positions: all earlier ones and itself.
at::Tensor causal_mask(int64_t t, int64_t past, at::Device device) {
  return at::ones({t, past + t}, at::TensorOptions(at::kBool).device(device)).tril(past);
}

}  // namespace

void Model::grow_rope(int64_t positions) {
  if (cosine_.defined() && cosine_.size(0) >= positions) return;
  const int64_t rows = std::max<int64_t>(positions, cosine_.defined() ? 2 * cosine_.size(0) : 256);
  const std::vector<double> frequency = format::rope_frequencies(config_.rope, config_.head_dim);
  const auto half = static_cast<int64_t>(frequency.size());
  at::Tensor cosine = at::empty({rows, half}, at::kFloat),
             sine = at::empty({rows, half}, at::kFloat);
  float* c = cosine.data_ptr<float>();
  float* s = sine.data_ptr<float>();
  for (int64_t p = 0; p < rows; ++p) {
    for (int64_t j = 0; j < half; ++j) {
      const double angle = static_cast<double>(p) * frequency[static_cast<std::size_t>(j)];
      c[p * half + j] = static_cast<float>(std::cos(angle));
      s[p * half + j] = static_cast<float>(std::sin(angle));
    }
  }
  cosine_ = cosine.to(options_.device);
  sine_ = sine.to(options_.device);
}

at::Tensor Model::embed(const at::Tensor& ids_nt) {
  return at::embedding(embedding(), ids_nt.to(options_.device));
}

at::Tensor Model::attention(int index, const at::Tensor& x_nth, const Tap& tap, KvCache* cache) {
  const LayerWeights& w = layers_[static_cast<std::size_t>(index)];
  const int64_t n = x_nth.size(0), t = x_nth.size(1), d = config_.head_dim;
  const int64_t past = cache ? cache->length : 0;
  grow_rope(past + t);
  const at::Tensor x = rms_norm(x_nth, w.attention_norm, config_.norm_eps);
  if (tap && !tap(Role::query, x)) return {};
  const auto heads = [&](const at::Tensor& weight_oi) {
    return at::linear(x, weight_oi).view({n, t, -1, d}).transpose(1, 2);
  };
  const at::Tensor q = rotate(heads(w.query), cosine_, sine_, past);
  at::Tensor k = rotate(heads(w.key), cosine_, sine_, past);
  at::Tensor v = heads(w.value);
  if (cache) {
    cache->keys.resize(layers_.size());
    cache->values.resize(layers_.size());
    at::Tensor& keys = cache->keys[static_cast<std::size_t>(index)];
    at::Tensor& values = cache->values[static_cast<std::size_t>(index)];
    keys = k = past ? at::cat({keys, k}, 2) : k;
    values = v = past ? at::cat({values, v}, 2) : v;
  }
  std::optional<at::Tensor> mask;
  if (past && t > 1) mask = causal_mask(t, past, x.device());
  const at::Tensor y =
      at::scaled_dot_product_attention(q, k, v, mask, /*dropout_p=*/0.0, /*is_causal=*/past == 0,
                                       std::nullopt, config_.heads != config_.kv_heads);
  const at::Tensor y_nti = y.transpose(1, 2).reshape({n, t, -1});
  if (tap && !tap(Role::output, y_nti)) return {};
  return at::linear(y_nti, w.output);
}

at::Tensor Model::mlp(int index, const at::Tensor& x_nth, const Tap& tap) {
  const LayerWeights& w = layers_[static_cast<std::size_t>(index)];
  const at::Tensor x = rms_norm(x_nth, w.mlp_norm, config_.norm_eps);
  if (tap && !tap(Role::gate, x)) return {};
  const at::Tensor u_nti = at::silu(at::linear(x, w.gate)) * at::linear(x, w.up);
  if (tap && !tap(Role::down, u_nti)) return {};
  return at::linear(u_nti, w.down);
}

at::Tensor Model::block(int index, const at::Tensor& x_nth, const Tap& tap, KvCache* cache) {
  CUPEL_ASSERT(index >= 0 && index < layers());
  load_layer(index);
  const at::Tensor attended = attention(index, x_nth, tap, cache);
  if (!attended.defined()) return {};
  const at::Tensor h = x_nth + attended, more = mlp(index, h, tap);
  return more.defined() ? h + more : at::Tensor();
}

at::Tensor Model::normalized(const at::Tensor& x_nth) {
  return rms_norm(x_nth, final_norm(), config_.norm_eps);
}

at::Tensor Model::logits(const at::Tensor& x_nth) {
  return at::linear(normalized(x_nth), head());
}

at::Tensor Model::forward(const at::Tensor& ids_nt, KvCache* cache) {
  at::Tensor x = embed(ids_nt);
  for (int i = 0; i < layers(); ++i) x = block(i, x, {}, cache);
  if (cache) cache->length += ids_nt.size(1);
  return logits(x);
}

}  // namespace cupel::core
