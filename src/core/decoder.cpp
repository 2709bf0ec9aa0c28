// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The forward pass.
#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/decoder_parts.h"
#include "core/rounded_input.h"

namespace cupel::core {

using format::Role;

at::Tensor wide(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  return type == at::kFloat || type == at::kDouble ? x : x.to(at::kFloat);
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool plus_one) {
  const at::Tensor w = wide(x);
  const at::Tensor scale = at::rsqrt(w.square().mean(-1, /*keepdim=*/true) + eps);
  if (plus_one) return (w * scale * (wide(weight) + 1)).to(x.scalar_type());
  return weight * (w * scale).to(x.scalar_type());
}

at::Tensor layer_norm(const LayerContext& layer, const at::Tensor& x, Role role) {
  return rms_norm(x, layer.weights.of(role), layer.config.norm_eps, layer.config.norm_plus_one);
}

namespace {

/// x as the matrix reads it.
at::Tensor read(const LayerContext& layer, const at::Tensor& x, Role matrix, int expert) {
  const auto input = layer.weights.input_of(matrix, expert);
  if (!input) return x;
  LastRounded& last = layer.rounded;
  if (!last.input || !last.x.is_same(x) || !same_input(*last.input, *input))
    last = {x, rounded(*input, x), input.get()};
  return last.read;
}

}  // namespace

at::Tensor multiply(const LayerContext& layer, const at::Tensor& x, Role matrix, int expert) {
  const at::Tensor x_i = read(layer, x, matrix, expert);
  const at::Tensor y = at::linear(x_i, layer.weights.of(matrix, expert));
  return layer.product ? layer.product({matrix, layer.index, expert}, x_i, y) : y;
}

at::Tensor project(const LayerContext& layer, const at::Tensor& x, Role matrix, Role bias,
                   bool with_bias, int expert) {
  const at::Tensor y = multiply(layer, x, matrix, expert);
  return with_bias ? y + layer.weights.of(bias, expert) : y;
}

namespace {

RopeTable make_table(const format::Rope& rope, int64_t dims, int64_t rows, int64_t length,
                     at::Device device) {
  const std::vector<double> frequency = format::rope_frequencies(rope, dims, length);
  const double magnitude = format::rope_magnitude(rope);
  const auto pairs = static_cast<int64_t>(frequency.size());
  at::Tensor cosine = at::empty({rows, pairs}, at::kFloat);
  at::Tensor sine = at::empty({rows, pairs}, at::kFloat);
  float* c = cosine.data_ptr<float>();
  float* s = sine.data_ptr<float>();
  for (int64_t p = 0; p < rows; ++p)
    for (int64_t j = 0; j < pairs; ++j) {
      const double angle = static_cast<double>(p) * frequency[static_cast<std::size_t>(j)];
      c[p * pairs + j] = static_cast<float>(magnitude * std::cos(angle));
      s[p * pairs + j] = static_cast<float>(magnitude * std::sin(angle));
    }
  return {cosine.to(device), sine.to(device), length};
}

}  // namespace

const RopeTable& Model::rope_table(int layer, int64_t positions) {
  const format::Rope& rope = config_.rope_of(layer);
  RopeTable& table = &rope == &config_.rope ? rope_ : local_rope_;
  const bool stretches =
      format::rope_depends_on_length(rope) && positions > rope.original_positions;
  const int64_t length = stretches ? positions : 0;
  const bool fits = table.cosine.defined() && table.cosine.size(0) >= positions;
  if (fits && table.length == length) return table;
  const int64_t known = table.cosine.defined() ? table.cosine.size(0) : 128;
  table = make_table(rope, config_.rope_dims(rope), fits ? known : std::max(positions, 2 * known),
                     length, options_.device);
  return table;
}

at::Tensor Model::embed(const at::Tensor& ids_nt) {
  const at::Tensor x = at::embedding(embedding(), ids_nt.to(options_.device));
  return config_.embedding_scale == 1 ? x : x * config_.embedding_scale;
}

at::Tensor Model::block(int index, const at::Tensor& x_nth, const Tap& tap, KvCache* cache,
                        const ProductHook& product) {
  CUPEL_ASSERT(index >= 0 && index < layers());
  load_layer(index);
  LastRounded last;
  const LayerContext layer{config_, index,   layers_[static_cast<std::size_t>(index)],
                           tap,     product, last};
  const auto add = [&](const at::Tensor& x, at::Tensor y, Role norm) {
    if (config_.post_norm) y = layer_norm(layer, y, norm);
    return config_.residual_scale == 1 ? x + y : x + y * config_.residual_scale;
  };
  const int64_t past = cache ? cache->length : 0;
  const RopeTable& rope = rope_table(index, past + x_nth.size(1));
  const at::Tensor attended = attention(layer, x_nth, rope, cache);
  if (!attended.defined()) return {};
  const at::Tensor h = add(x_nth, attended, Role::post_attention_norm);
  const at::Tensor more = mlp(layer, h);
  return more.defined() ? add(h, more, Role::post_mlp_norm) : at::Tensor();
}

at::Tensor Model::normalized(const at::Tensor& x_nth) {
  return rms_norm(x_nth, final_norm(), config_.norm_eps, config_.norm_plus_one);
}

at::Tensor Model::logits(const at::Tensor& x_nth) {
  const at::Tensor x = normalized(x_nth);
  at::Tensor y = at::linear(head_input_ ? rounded(*head_input_, x) : x, head());
  if (config_.logit_divisor != 1) y = y / config_.logit_divisor;
  if (config_.logit_cap > 0) y = at::tanh(y / config_.logit_cap) * config_.logit_cap;
  return y;
}

at::Tensor Model::forward(const at::Tensor& ids_nt, KvCache* cache) {
  at::Tensor x = embed(ids_nt);
  for (int i = 0; i < layers(); ++i) x = block(i, x, {}, cache);
  if (cache) cache->length += ids_nt.size(1);
  return logits(x);
}

}  // namespace cupel::core
