// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/forward.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "runtime/finite.h"

namespace cupel::runtime {
namespace {

constexpr int64_t kScratchBytes = 32 << 20;

void multiply(float* x, int64_t n, double factor) {
  if (factor == 1) return;
  for (int64_t i = 0; i < n; ++i) x[i] *= static_cast<float>(factor);
}

}  // namespace

Forward::Forward(const Model& model, ThreadPool& pool)
    : c_(model, pool), attention_(c_), mlp_(c_), experts_(c_, mlp_) {}

int64_t Forward::widest_step(int64_t wanted) const {
  const auto& config = c_.config;
  const format::Experts& e = config.experts;
  // The widest MLP of a layer: dense, or the experts that a position visits.
  const int64_t inner = std::max({config.intermediate, e.active * e.width, e.shared_width});
  const int64_t floats = 2 * config.hidden + attention_.widest() + attention_.floats() + 2 * inner +
                         (e.count > 0 ? experts_.floats() : 0);
  const int64_t quantized = 2 * std::max({attention_.widest(), inner, e.active * config.hidden});
  return std::clamp<int64_t>(kScratchBytes / (4 * floats + quantized), 1, wanted);
}

void Forward::begin(std::span<const Segment> step) {
  c_.rows.clear();
  ids_t_.clear();
  for (const Segment& s : step)
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
      ids_t_.push_back(s.ids[i]);
      c_.rows.push_back({s.cache, s.first + static_cast<int64_t>(i)});
    }
  c_.m = static_cast<int64_t>(c_.rows.size());
  c_.x_ti.reserve(c_.m * c_.config.hidden);
  c_.h_ti.reserve(c_.m * attention_.widest());
  c_.d_ti.reserve(c_.m * c_.config.hidden);
  attention_.begin(step);
}

void Forward::embed() {
  const int64_t hidden = c_.config.hidden;
  c_.pool.for_range(c_.m, 16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* x = c_.x_ti.get() + t * hidden;
      c_.model.embed(ids_t_[static_cast<std::size_t>(t)], x);
      multiply(x, hidden, c_.config.embedding_scale);
    }
  });
}

void Forward::layers(std::span<const Segment> step) {
  const int64_t hidden = c_.config.hidden, last = c_.config.layers - 1;
  begin(step);
  embed();
  for (int64_t layer = 0; layer <= last; ++layer) {
    attention_.run(layer, [&](int64_t t) {
      if (layer > 0) add(t, layer - 1, Half::mlp);
      c_.norm(c_.x_ti.get() + t * hidden, c_.layer(layer).attention_norm,
              c_.h_ti.get() + t * hidden);
    });
    mlp(layer);
  }
  c_.pool.for_range(c_.m, 16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) add(t, last, Half::mlp);
  });
}

void Forward::mlp(int64_t l) {
  const int64_t hidden = c_.config.hidden;
  const Model::Layer& layer = c_.layer(l);
  const auto produce = [&](int64_t t) {
    add(t, l, Half::attention);
    c_.norm(c_.x_ti.get() + t * hidden, layer.mlp_norm, c_.h_ti.get() + t * hidden);
  };
  if (c_.config.kind(static_cast<int>(l)).sparse) return experts_.run(l, produce);
  const MlpGroup all{&layer.mlp, c_.m};
  mlp_.run(c_.h_ti.get(), {&all, 1}, produce, c_.d_ti.get());
}

void Forward::add(int64_t row, int64_t l, Half half) {
  const int64_t hidden = c_.config.hidden;
  const Model::Layer& layer = c_.layer(l);
  const bool attention = half == Half::attention;
  float* x = c_.x_ti.get() + row * hidden;
  float* d = c_.d_ti.get() + row * hidden;
  add_bias(d, attention ? layer.attention.output_bias : layer.mlp.down_bias);
  if (c_.config.post_norm)
    c_.norm(d, attention ? layer.post_attention_norm : layer.post_mlp_norm, d);
  multiply(d, hidden, c_.config.residual_scale);
  for (int64_t i = 0; i < hidden; ++i) x[i] += d[i];
  CUPEL_CHECK(all_finite(x, hidden), data, "model.layers.", l, attention ? ".self_attn" : ".mlp",
              ": its output at position ", c_.rows[static_cast<std::size_t>(row)].position,
              " is not finite; its weights, or those of a layer before it, are damaged");
}

void Forward::logits(std::span<const int64_t> rows, float* out) {
  const auto& config = c_.config;
  const auto count = static_cast<int64_t>(rows.size());
  const std::array<LinearOutput, 1> outputs{{{&c_.model.head(), out}}};
  c_.linear.run(c_.h_ti.get(), count, c_.model.head_in(), outputs, [&](int64_t r) {
    c_.norm(c_.x_ti.get() + rows[static_cast<std::size_t>(r)] * config.hidden,
            c_.model.final_norm(), c_.h_ti.get() + r * config.hidden);
  });
  c_.pool.for_range(count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* logits = out + r * config.vocab;
      if (config.logit_divisor != 1)
        for (int64_t i = 0; i < config.vocab; ++i)
          logits[i] /= static_cast<float>(config.logit_divisor);
      const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(r)]);
      CUPEL_CHECK(all_finite(logits, config.vocab), data, "the logits at position ",
                  c_.rows[row].position,
                  " are not finite; the head's weights or the final norm are damaged");
      if (config.logit_cap > 0)
        c_.cpu.cap(logits, config.vocab, static_cast<float>(config.logit_cap));
    }
  });
}

}  // namespace cupel::runtime
