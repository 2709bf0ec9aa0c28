// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/forward.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace cupel::runtime {
namespace {

constexpr int64_t kScratchBytes = 32 << 20;

// On the bits: vectorises, and no compiler flag can make it vanish.
bool all_finite(const float* x, int64_t n) {
  uint32_t bad = 0;
  for (int64_t i = 0; i < n; ++i)
    bad |= (std::bit_cast<uint32_t>(x[i]) & 0x7f800000u) == 0x7f800000u;
  return bad == 0;
}

}  // namespace

Forward::Forward(const Model& model, KvCache& cache, ThreadPool& pool)
    : model_(model),
      config_(model.config()),
      cpu_(model.cpu()),
      cache_(cache),
      pool_(pool),
      step_(cpu_, pool, model.options().activations == Activations::exact),
      size_{config_.hidden, config_.heads * config_.head_dim, config_.kv_heads * config_.head_dim,
            config_.intermediate},
      frequencies_(format::rope_frequencies(config_.rope, config_.head_dim)) {}

int64_t Forward::widest_step(int64_t wanted) const {
  const int64_t floats =
      2 * size_.hidden + size_.widest() + size_.query + 2 * size_.key + 2 * size_.intermediate;
  const int64_t quantized = 2 * std::max(size_.widest(), size_.intermediate);
  return std::clamp<int64_t>(kScratchBytes / (4 * floats + quantized), 1, wanted);
}

void Forward::reserve(int64_t m) {
  x_ti_.reserve(m * size_.hidden);
  h_ti_.reserve(m * size_.widest());
  d_ti_.reserve(m * size_.hidden);
  q_th_.reserve(m * size_.query);
  k_th_.reserve(m * size_.key);
  v_th_.reserve(m * size_.key);
  gate_ti_.reserve(m * size_.intermediate);
  up_ti_.reserve(m * size_.intermediate);
  cosine_t_.reserve(m * config_.head_dim / 2);
  sine_t_.reserve(m * config_.head_dim / 2);
}

void Forward::angles(int64_t first, int64_t m) {
  const auto pairs = static_cast<int64_t>(frequencies_.size());
  for (int64_t t = 0; t < m; ++t)
    for (int64_t j = 0; j < pairs; ++j) {
      const double angle =
          static_cast<double>(first + t) * frequencies_[static_cast<std::size_t>(j)];
      cosine_t_.get()[t * pairs + j] = static_cast<float>(std::cos(angle));
      sine_t_.get()[t * pairs + j] = static_cast<float>(std::sin(angle));
    }
}

void Forward::embed(std::span<const text::Token> ids) {
  pool_.for_range(m_, 16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      model_.embed(ids[static_cast<std::size_t>(t)], x_ti_.get() + t * size_.hidden);
  });
}

void Forward::layers(std::span<const text::Token> ids, int64_t first) {
  m_ = static_cast<int64_t>(ids.size());
  first_ = first;
  reserve(m_);
  angles(first, m_);
  embed(ids);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    attention_inputs(layer);
    attend(layer);
    mlp(layer);
  }
  pool_.for_range(m_, 16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) add(t, config_.layers - 1, "mlp");
  });
}

void Forward::add(int64_t row, int64_t layer, const char* part) {
  float* x = x_ti_.get() + row * size_.hidden;
  const float* d = d_ti_.get() + row * size_.hidden;
  for (int64_t i = 0; i < size_.hidden; ++i) x[i] += d[i];
  CUPEL_CHECK(all_finite(x, size_.hidden), data, "model.layers.", layer, ".", part,
              ": its output at position ", first_ + row,
              " is not finite; its weights, or those of a layer before it, are damaged");
}

void Forward::attention_inputs(int64_t l) {
  const Model::Layer& layer = model_.layers()[static_cast<std::size_t>(l)];
  const std::array<LinearOutput, 3> outputs{
      {{&layer.query, q_th_.get()}, {&layer.key, k_th_.get()}, {&layer.value, v_th_.get()}}};
  step_.run(h_ti_.get(), m_, *layer.attention_in, outputs, [&](int64_t t) {
    if (l > 0) add(t, l - 1, "mlp");
    cpu_.rms_norm(x_ti_.get() + t * size_.hidden, layer.attention_norm.data(),
                  static_cast<float>(config_.norm_eps), h_ti_.get() + t * size_.hidden,
                  size_.hidden);
  });
  const int64_t pairs = config_.head_dim / 2;
  pool_.for_range(m_, 16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float *cosine = cosine_t_.get() + t * pairs, *sine = sine_t_.get() + t * pairs;
      float *q = q_th_.get() + t * size_.query, *k = k_th_.get() + t * size_.key;
      cpu_.rope(q, config_.heads, config_.head_dim, cosine, sine);
      cpu_.rope(k, config_.kv_heads, config_.head_dim, cosine, sine);
      cache_.store(cpu_, l, first_ + t, k, v_th_.get() + t * size_.key);
    }
  });
}

void Forward::attend(int64_t l) {
  const Model::Layer& layer = model_.layers()[static_cast<std::size_t>(l)];
  const kernels::KvView kv = cache_.view(l);
  const int64_t heads = config_.heads, count = first_ + m_;
  const float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(config_.head_dim)));
  // One position's heads are cut once per thread: heads of a group share keys, which are then still
  // in cache.
  const int64_t share = m_ == 1 ? (heads + pool_.size() - 1) / pool_.size() : 1;
  const int64_t grain = std::max(share, grain_of(2 * count * config_.head_dim));
  pool_.for_range(m_ * heads, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t t = begin / heads, to = std::min(end, (t + 1) * heads);
      cpu_.attention(q_th_.get() + t * size_.query, kv, first_ + t + 1, heads, scale,
                     h_ti_.get() + t * size_.query, begin - t * heads, to - t * heads);
      begin = to;
    }
  });
  const std::array<LinearOutput, 1> outputs{{{&layer.output, d_ti_.get()}}};
  step_.run(h_ti_.get(), m_, *layer.output_in, outputs, [](int64_t) {});
}

void Forward::mlp(int64_t l) {
  const Model::Layer& layer = model_.layers()[static_cast<std::size_t>(l)];
  const std::array<LinearOutput, 2> outputs{
      {{&layer.gate, gate_ti_.get()}, {&layer.up, up_ti_.get()}}};
  step_.run(h_ti_.get(), m_, *layer.mlp_in, outputs, [&](int64_t t) {
    add(t, l, "self_attn");
    cpu_.rms_norm(x_ti_.get() + t * size_.hidden, layer.mlp_norm.data(),
                  static_cast<float>(config_.norm_eps), h_ti_.get() + t * size_.hidden,
                  size_.hidden);
  });
  const std::array<LinearOutput, 1> down{{{&layer.down, d_ti_.get()}}};
  step_.run(gate_ti_.get(), m_, *layer.down_in, down, [&](int64_t t) {
    cpu_.silu_mul(gate_ti_.get() + t * size_.intermediate, up_ti_.get() + t * size_.intermediate,
                  size_.intermediate);
  });
}

void Forward::logits(int64_t row, int64_t count, float* out) {
  const std::array<LinearOutput, 1> outputs{{{&model_.head(), out}}};
  step_.run(h_ti_.get(), count, model_.head_in(), outputs, [&](int64_t r) {
    cpu_.rms_norm(x_ti_.get() + (row + r) * size_.hidden, model_.final_norm().data(),
                  static_cast<float>(config_.norm_eps), h_ti_.get() + r * size_.hidden,
                  size_.hidden);
  });
  pool_.for_range(count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      CUPEL_CHECK(all_finite(out + r * config_.vocab, config_.vocab), data,
                  "the logits at position ", first_ + row + r,
                  " are not finite; the head's weights or the final norm are damaged");
  });
}

}  // namespace cupel::runtime
