// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/attention.h"

#include <algorithm>
#include <array>

#include "format/hadamard.h"
#include "format/weight_code.h"

namespace cupel::runtime {
namespace {

constexpr auto kLowRankEps = static_cast<float>(format::kLowRankNormEps);

}  // namespace

AttentionStep::AttentionStep(StepContext& context)
    : c_(context), rope_(c_.config.rope, c_.config.rope_dims(c_.config.rope)) {
  const auto& config = c_.config;
  if (config.local_rope)
    local_rope_.emplace(*config.local_rope, config.rope_dims(*config.local_rope));
  const int64_t kv_heads = config.is_low_rank() ? config.heads : config.kv_heads;
  query_width_ = config.heads * config.head_dim;
  key_width_ = kv_heads * config.head_dim;
  value_width_ = kv_heads * config.values_dim();
  output_width_ = config.heads * config.values_dim();
  if (format::hadamard_order(config.head_dim))
    mix_ = kernels::row_transform({.id = "keys", .hadamard = static_cast<int>(config.head_dim)});
}

int64_t AttentionStep::floats() const {
  int64_t count = query_width_ + key_width_ + value_width_;
  const auto& low = c_.config.low_rank;
  if (c_.config.is_low_rank())
    count += low.query_rank + 2 * low.kv_rank + low.rope_dim + key_width_ + value_width_;
  return count;
}

int64_t AttentionStep::widest() const {
  return std::max({c_.config.hidden, output_width_, c_.config.low_rank.query_rank});
}

void AttentionStep::begin(std::span<const Segment> step) {
  step_ = step;
  for (RopeTable* table : {&rope_, local_rope_ ? &*local_rope_ : nullptr}) {
    if (!table) continue;
    table->reserve(c_.m);
    int64_t row = 0;
    for (const Segment& s : step) {
      const auto count = static_cast<int64_t>(s.ids.size());
      table->fill(row, s.first, count, s.length);
      row += count;
    }
  }
  q_th_.reserve(c_.m * query_width_);
  k_th_.reserve(c_.m * key_width_);
  v_th_.reserve(c_.m * value_width_);
  if (!c_.config.is_low_rank()) return;
  const auto& low = c_.config.low_rank;
  query_tr_.reserve(c_.m * low.query_rank);
  kv_tr_.reserve(c_.m * (low.kv_rank + low.rope_dim));
  latent_tr_.reserve(c_.m * low.kv_rank);
  kv_th_.reserve(c_.m * c_.config.heads * (low.nope_dim + c_.config.values_dim()));
}

void AttentionStep::run(int64_t layer, const Produce& produce) {
  if (c_.config.is_low_rank())
    project_low_rank(layer, produce);
  else
    project(layer, produce);
  c_.pool.for_range(c_.m, 16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) finish(layer, t);
  });
  for (const Segment& s : step_)
    if (s.parent) s.cache->copy(layer, *s.parent, s.first);
  attend(layer);
}

void AttentionStep::project(int64_t layer, const Produce& produce) {
  const Model::Attention& a = c_.layer(layer).attention;
  const std::array<LinearOutput, 3> outputs{
      {{&a.query, q_th_.get()}, {&a.key, k_th_.get()}, {&a.value, v_th_.get()}}};
  c_.linear.run(c_.h_ti.get(), c_.m, *a.in, outputs, produce);
}

void AttentionStep::project_low_rank(int64_t layer, const Produce& produce) {
  const Model::Attention& a = c_.layer(layer).attention;
  const auto& low = c_.config.low_rank;
  const bool low_queries = low.query_rank > 0;
  const LinearOutput query =
      low_queries ? LinearOutput{&a.query_a, query_tr_.get()} : LinearOutput{&a.query, q_th_.get()};
  const std::array<LinearOutput, 2> outputs{{query, {&a.kv_a, kv_tr_.get()}}};
  c_.linear.run(c_.h_ti.get(), c_.m, *a.in, outputs, produce);
  if (low_queries) {
    const std::array<LinearOutput, 1> heads{{{&a.query_b, q_th_.get()}}};
    c_.linear.run(query_tr_.get(), c_.m, *a.query_b_in, heads, [&](int64_t t) {
      float* row = query_tr_.get() + t * low.query_rank;
      c_.cpu.rms_norm(row, a.query_a_norm.data(), kLowRankEps, row, low.query_rank);
    });
  }
  const std::array<LinearOutput, 1> heads{{{&a.kv_b, kv_th_.get()}}};
  c_.linear.run(latent_tr_.get(), c_.m, *a.kv_b_in, heads, [&](int64_t t) {
    c_.cpu.rms_norm(kv_tr_.get() + t * (low.kv_rank + low.rope_dim), a.kv_a_norm.data(),
                    kLowRankEps, latent_tr_.get() + t * low.kv_rank, low.kv_rank);
  });
}

void AttentionStep::norm_heads(float* x, int64_t heads, const std::vector<float>& weight) const {
  if (weight.empty()) return;
  const bool full = c_.config.query_key_norm == format::QueryKeyNorm::full_width;
  const int64_t width = full ? heads * c_.config.head_dim : c_.config.head_dim;
  for (int64_t from = 0; from < heads * c_.config.head_dim; from += width)
    c_.cpu.rms_norm(x + from, weight.data(), static_cast<float>(c_.config.norm_eps), x + from,
                    width);
}

void AttentionStep::clip(float* x, int64_t n) const {
  if (c_.config.clip_qkv <= 0) return;
  const auto most = static_cast<float>(c_.config.clip_qkv);
  for (int64_t i = 0; i < n; ++i) x[i] = std::clamp(x[i], -most, most);
}

void AttentionStep::finish(int64_t layer, int64_t t) {
  const auto& config = c_.config;
  const Model::Attention& a = c_.layer(layer).attention;
  const format::LayerKind kind = config.kind(static_cast<int>(layer));
  const RopeTable& table = kind.window > 0 && local_rope_ ? *local_rope_ : rope_;
  float *q = q_th_.get() + t * query_width_, *k = k_th_.get() + t * key_width_,
        *v = v_th_.get() + t * value_width_;
  if (config.is_low_rank()) {
    expand_low_rank(t, table.at(t));
  } else {
    add_bias(q, a.query_bias);
    add_bias(k, a.key_bias);
    add_bias(v, a.value_bias);
    norm_heads(q, config.heads, a.query_norm);
    norm_heads(k, config.kv_heads, a.key_norm);
    clip(q, query_width_);
    clip(k, key_width_);
    clip(v, value_width_);
    if (kind.rope) {
      c_.cpu.rope(q, config.heads, config.head_dim, table.at(t));
      c_.cpu.rope(k, config.kv_heads, config.head_dim, table.at(t));
    }
  }
  const StepRow& row = c_.rows[static_cast<std::size_t>(t)];
  if (row.cache->mixes_keys() && !mix_.identity()) {
    c_.cpu.transform(q, query_width_, mix_);
    c_.cpu.transform(k, key_width_, mix_);
  }
  row.cache->store(c_.cpu, layer, row.position, k, v);
}

void AttentionStep::expand_low_rank(int64_t t, const kernels::Rotation& rotation) {
  const auto& low = c_.config.low_rank;
  const int64_t heads = c_.config.heads, dim = c_.config.head_dim,
                value_dim = c_.config.values_dim();
  c_.cpu.rope(q_th_.get() + t * query_width_ + low.nope_dim, heads, dim, rotation);
  float* shared = kv_tr_.get() + t * (low.kv_rank + low.rope_dim) + low.kv_rank;
  c_.cpu.rope(shared, 1, low.rope_dim, rotation);
  const float* from = kv_th_.get() + t * heads * (low.nope_dim + value_dim);
  float *k = k_th_.get() + t * key_width_, *v = v_th_.get() + t * value_width_;
  for (int64_t h = 0; h < heads; ++h) {
    k = std::copy_n(from, low.nope_dim, k);
    k = std::copy_n(shared, low.rope_dim, k);
    v = std::copy_n(from + low.nope_dim, value_dim, v);
    from += low.nope_dim + value_dim;
  }
}

void AttentionStep::attend(int64_t l) {
  const auto& config = c_.config;
  const Model::Attention& a = c_.layer(l).attention;
  const int64_t heads = config.heads, window = config.kind(static_cast<int>(l)).window;
  int64_t most = 0;
  for (const StepRow& row : c_.rows) most = std::max(most, row.position + 1);
  const int64_t count = window > 0 ? std::min(window, most) : most;
  const kernels::AttentionQuery all{.heads = heads,
                                    .scale = static_cast<float>(config.attention_scale()),
                                    .cap = static_cast<float>(config.score_cap),
                                    .sinks = a.sinks.empty() ? nullptr : a.sinks.data()};
  // One position's heads are cut once per thread: heads of a group share keys, which are then still
  // in cache.
  const int64_t share = c_.m == 1 ? (heads + c_.pool.size() - 1) / c_.pool.size() : 1;
  const int64_t grain = std::max(share, grain_of(count * (config.head_dim + config.values_dim())));
  c_.pool.for_range(c_.m * heads, grain, [&](int64_t begin, int64_t end) {
    kernels::AttentionQuery query = all;
    while (begin < end) {
      const int64_t t = begin / heads, to = std::min(end, (t + 1) * heads);
      const StepRow& row = c_.rows[static_cast<std::size_t>(t)];
      query.q = q_th_.get() + t * query_width_;
      query.end = row.position + 1;
      query.begin = window > 0 ? std::max<int64_t>(0, query.end - window) : 0;
      c_.cpu.attention(query, row.cache->view(l), c_.h_ti.get() + t * output_width_,
                       begin - t * heads, to - t * heads);
      begin = to;
    }
  });
  const std::array<LinearOutput, 1> outputs{{{&a.output, c_.d_ti.get()}}};
  c_.linear.run(c_.h_ti.get(), c_.m, *a.output_in, outputs, [](int64_t) {});
}

}  // namespace cupel::runtime
