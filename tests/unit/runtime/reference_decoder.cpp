// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "reference_decoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cupel::runtime {
namespace {

using format::Activation;
using format::GroupScore;
using format::Role;
using format::Routing;
using Vector = std::vector<double>;

Vector multiply(const std::vector<float>& w, const Vector& x) {
  Vector y(w.size() / x.size(), 0.0);
  for (std::size_t o = 0; o < y.size(); ++o)
    for (std::size_t i = 0; i < x.size(); ++i)
      y[o] += static_cast<double>(w[o * x.size() + i]) * x[i];
  return y;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

Vector softmax(Vector x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v - top);
  for (double& v : x) v /= sum;
  return x;
}

/// x[begin, begin + weight's size) in place.
void norm(Vector& x, std::size_t begin, const std::vector<float>& weight, double eps, bool one) {
  double squares = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) squares += x[begin + i] * x[begin + i];
  const double root = std::sqrt(squares / static_cast<double>(weight.size()) + eps);
  for (std::size_t i = 0; i < weight.size(); ++i)
    x[begin + i] = x[begin + i] / root * (static_cast<double>(weight[i]) + (one ? 1 : 0));
}

/// Turns the first 2 * frequencies dimensions from `begin` on.
void rotate(Vector& x, std::size_t begin, const format::Rope& rope, const Vector& frequencies,
            std::size_t position) {
  const std::size_t half = frequencies.size();
  const double magnitude = format::rope_magnitude(rope);
  for (std::size_t j = 0; j < half; ++j) {
    const double angle = static_cast<double>(position) * frequencies[j];
    const double c = std::cos(angle) * magnitude, s = std::sin(angle) * magnitude;
    double& low = x[begin + (rope.interleaved ? 2 * j : j)];
    double& high = x[begin + (rope.interleaved ? 2 * j + 1 : j + half)];
    const double a = low, b = high;
    low = a * c - b * s;
    high = b * c + a * s;
  }
}

void add(Vector& x, const Vector& d, double factor = 1) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * d[i];
}

/// What one layer remembers of each position, heads side by side.
struct Memory {
  std::vector<Vector> keys, values;
};

class Decoder {
 public:
  Decoder(const TinyModel& model, std::size_t length) : model_(model), c_(model.config) {
    memory_.resize(static_cast<std::size_t>(c_.layers));
    length_ = static_cast<int64_t>(length);
  }

  Vector step(text::Token id, std::size_t position) {
    const float* row = weight(Role::embedding).data() + id * c_.hidden;
    Vector x(row, row + c_.hidden);
    for (double& v : x) v *= c_.embedding_scale;
    for (layer_ = 0; layer_ < c_.layers; ++layer_) {
      half(x, Role::attention_norm, Role::post_attention_norm,
           [&](const Vector& h) { return attention(h, position); });
      half(x, Role::mlp_norm, Role::post_mlp_norm, [&](const Vector& h) {
        return c_.kind(layer_).sparse ? experts(h) : mlp(h, dense_roles(), -1, c_.mlp_bias);
      });
    }
    layer_ = -1;
    norm(x, 0, weight(Role::final_norm), c_.norm_eps, c_.norm_plus_one);
    Vector logits = multiply(weight(c_.tied_head ? Role::embedding : Role::head), x);
    for (double& v : logits) {
      v /= c_.logit_divisor;
      if (c_.logit_cap > 0) v = c_.logit_cap * std::tanh(v / c_.logit_cap);
    }
    return logits;
  }

 private:
  const std::vector<float>& weight(Role role, int expert = -1) const {
    return model_.at(format::WeightId{role, layer_, expert});
  }
  void bias(Vector& y, bool present, Role role, int expert = -1) const {
    if (!present) return;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += static_cast<double>(weight(role, expert)[i]);
  }

  template <class Body>
  void half(Vector& x, Role before, Role after, Body&& body) {
    Vector h = x;
    if (c_.pre_norm) norm(h, 0, weight(before), c_.norm_eps, c_.norm_plus_one);
    Vector d = body(h);
    if (c_.post_norm) norm(d, 0, weight(after), c_.norm_eps, c_.norm_plus_one);
    add(x, d, c_.residual_scale);
  }

  void head_norm(Vector& x, Role role) const {
    if (c_.query_key_norm == format::QueryKeyNorm::none) return;
    const auto& w = weight(role);
    for (std::size_t begin = 0; begin < x.size(); begin += w.size())
      norm(x, begin, w, c_.norm_eps, c_.norm_plus_one);
  }

  void turn(Vector& x, std::size_t begin, std::size_t position) const {
    if (!c_.kind(layer_).rope) return;
    const format::Rope& rope = c_.rope_of(layer_);
    const int64_t dims = rope.dim > 0 ? rope.dim : c_.head_dim;
    rotate(x, begin, rope, format::rope_frequencies(rope, dims, length_), position);
  }

  Vector attention(const Vector& h, std::size_t position) {
    Vector q, k, v;
    if (c_.is_low_rank()) {
      low_rank(h, position, q, k, v);
    } else {
      q = multiply(weight(Role::query), h);
      k = multiply(weight(Role::key), h);
      v = multiply(weight(Role::value), h);
      bias(q, c_.qkv_bias, Role::query_bias);
      bias(k, c_.qkv_bias, Role::key_bias);
      bias(v, c_.qkv_bias, Role::value_bias);
      head_norm(q, Role::query_norm);
      head_norm(k, Role::key_norm);
      for (Vector* x : {&q, &k, &v})
        for (double& n : *x)
          if (c_.clip_qkv > 0) n = std::clamp(n, -c_.clip_qkv, c_.clip_qkv);
      const auto dim = static_cast<std::size_t>(c_.head_dim);
      for (std::size_t i = 0; i < q.size(); i += dim) turn(q, i, position);
      for (std::size_t i = 0; i < k.size(); i += dim) turn(k, i, position);
    }
    Memory& memory = memory_[static_cast<std::size_t>(layer_)];
    memory.keys.push_back(k);
    memory.values.push_back(v);
    Vector out = multiply(weight(Role::output), attend(q, memory));
    bias(out, c_.output_bias, Role::output_bias);
    return out;
  }

  /// Keys and values of all heads from a latent; the rotary part of a key is shared.
  void low_rank(const Vector& h, std::size_t position, Vector& q, Vector& k, Vector& v) {
    const auto nope = static_cast<std::size_t>(c_.low_rank.nope_dim),
               turning = static_cast<std::size_t>(c_.low_rank.rope_dim),
               rank = static_cast<std::size_t>(c_.low_rank.kv_rank),
               width = static_cast<std::size_t>(c_.value_dim);
    if (c_.low_rank.query_rank > 0) {
      Vector latent = multiply(weight(Role::query_a), h);
      norm(latent, 0, weight(Role::query_a_norm), 1e-6, false);
      q = multiply(weight(Role::query_b), latent);
    } else {
      q = multiply(weight(Role::query), h);
    }
    Vector latent = multiply(weight(Role::kv_a), h);
    const Vector key(latent.begin() + static_cast<std::ptrdiff_t>(rank), latent.end());
    latent.resize(rank);
    norm(latent, 0, weight(Role::kv_a_norm), 1e-6, false);
    const Vector both = multiply(weight(Role::kv_b), latent);
    for (std::size_t head = 0; head < static_cast<std::size_t>(c_.heads); ++head) {
      turn(q, head * (nope + turning) + nope, position);
      const auto from = both.begin() + static_cast<std::ptrdiff_t>(head * (nope + width));
      k.insert(k.end(), from, from + static_cast<std::ptrdiff_t>(nope));
      k.insert(k.end(), key.begin(), key.end());
      turn(k, k.size() - turning, position);
      v.insert(v.end(), from + static_cast<std::ptrdiff_t>(nope),
               from + static_cast<std::ptrdiff_t>(nope + width));
    }
  }

  Vector attend(const Vector& q, const Memory& memory) const {
    const auto dim = static_cast<std::size_t>(c_.head_dim),
               width = static_cast<std::size_t>(c_.values_dim()),
               heads = static_cast<std::size_t>(c_.heads), kv_heads = memory.keys[0].size() / dim,
               count = memory.keys.size(),
               window = static_cast<std::size_t>(c_.kind(layer_).window);
    const std::size_t first = window > 0 && count > window ? count - window : 0;
    Vector out(heads * width, 0.0);
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t kv = h / (heads / kv_heads);
      Vector score;
      for (std::size_t p = first; p < count; ++p) {
        double dot = 0;
        for (std::size_t d = 0; d < dim; ++d) dot += q[h * dim + d] * memory.keys[p][kv * dim + d];
        dot *= c_.attention_scale();
        score.push_back(c_.score_cap > 0 ? c_.score_cap * std::tanh(dot / c_.score_cap) : dot);
      }
      if (c_.sinks) score.push_back(static_cast<double>(weight(Role::sinks)[h]));
      const Vector share = softmax(score);
      for (std::size_t p = first; p < count; ++p)
        for (std::size_t d = 0; d < width; ++d)
          out[h * width + d] += share[p - first] * memory.values[p][kv * width + d];
    }
    return out;
  }

  struct MlpRoles {
    Role gate, up, down, gate_bias, up_bias, down_bias;
  };
  static MlpRoles dense_roles() {
    return {Role::gate, Role::up, Role::down, Role::gate_bias, Role::up_bias, Role::down_bias};
  }

  Vector mlp(const Vector& h, const MlpRoles& roles, int expert, bool biases) const {
    Vector gate = multiply(weight(roles.gate, expert), h),
           up = multiply(weight(roles.up, expert), h);
    bias(gate, biases, roles.gate_bias, expert);
    bias(up, biases, roles.up_bias, expert);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gated(gate[i], up[i]);
    Vector out = multiply(weight(roles.down, expert), gate);
    bias(out, biases, roles.down_bias, expert);
    return out;
  }

  double gated(double g, double u) const {
    switch (c_.activation) {
      case Activation::silu:
        return g * sigmoid(g) * u;
      case Activation::gelu_tanh:
        return 0.5 * g * (1 + std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g))) * u;
      case Activation::gelu:
        return 0.5 * g * (1 + std::erf(g / std::sqrt(2.0))) * u;
      case Activation::clamped_swiglu:
        g = std::min(g, c_.swiglu_limit);
        u = std::clamp(u, -c_.swiglu_limit, c_.swiglu_limit);
        return (u + 1) * g * sigmoid(c_.swiglu_alpha * g);
    }
    return 0;
  }

  /// Weight of each expert, 0 for those that the position does not visit.
  Vector routed(const Vector& h) const {
    const format::Experts& e = c_.experts;
    Vector logits = multiply(weight(Role::router), h);
    bias(logits, e.router_bias, Role::router_bias);
    Vector score = logits;
    if (e.routing == Routing::softmax_first) score = softmax(logits);
    if (e.routing == Routing::sigmoid)
      for (double& s : score) s = sigmoid(s);
    Vector order = score;
    bias(order, e.router_correction, Role::router_correction);
    keep_best_groups(order);
    std::vector<std::size_t> best(order.size());
    std::iota(best.begin(), best.end(), std::size_t{0});
    std::stable_sort(best.begin(), best.end(),
                     [&](std::size_t a, std::size_t b) { return order[a] > order[b]; });
    best.resize(static_cast<std::size_t>(e.active));
    Vector chosen;
    for (const std::size_t i : best) chosen.push_back(score[i]);
    if (e.routing == Routing::best_first) chosen = softmax(chosen);
    const double sum = std::accumulate(chosen.begin(), chosen.end(), 0.0);
    Vector result(order.size(), 0.0);
    for (std::size_t i = 0; i < best.size(); ++i)
      result[best[i]] = chosen[i] / (e.renormalise ? sum : 1) * e.scale;
    return result;
  }

  void keep_best_groups(Vector& order) const {
    const format::Experts& e = c_.experts;
    if (e.group_score == GroupScore::none) return;
    const auto groups = static_cast<std::size_t>(e.groups), size = order.size() / groups;
    Vector worth;
    for (std::size_t g = 0; g < groups; ++g) {
      Vector part(order.begin() + static_cast<std::ptrdiff_t>(g * size),
                  order.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
      std::sort(part.rbegin(), part.rend());
      worth.push_back(e.group_score == GroupScore::two_largest ? part[0] + part[1] : part[0]);
    }
    Vector sorted = worth;
    std::sort(sorted.rbegin(), sorted.rend());
    for (std::size_t i = 0; i < order.size(); ++i)
      if (worth[i / size] < sorted[static_cast<std::size_t>(e.best_groups - 1)])
        order[i] = e.routing == Routing::sigmoid ? -1e300 : 0;
  }

  Vector experts(const Vector& h) const {
    const format::Experts& e = c_.experts;
    const Vector shares = routed(h);
    Vector sum(h.size(), 0.0);
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (shares[i] != 0)
        add(sum,
            mlp(h,
                {Role::expert_gate, Role::expert_up, Role::expert_down, Role::expert_gate_bias,
                 Role::expert_up_bias, Role::expert_down_bias},
                static_cast<int>(i), e.bias),
            shares[i]);
    if (e.shared_width > 0) {
      const double gate =
          e.shared_router ? sigmoid(multiply(weight(Role::shared_router), h)[0]) : 1;
      add(sum,
          mlp(h, {Role::shared_gate, Role::shared_up, Role::shared_down, {}, {}, {}}, -1, false),
          gate);
    }
    return sum;
  }

  const TinyModel& model_;
  const format::ModelConfig& c_;
  int64_t length_;
  int layer_ = -1;
  std::vector<Memory> memory_;
};

}  // namespace

std::vector<std::vector<double>> reference_logits(const TinyModel& model,
                                                  const std::vector<text::Token>& ids) {
  Decoder decoder(model, ids.size());
  std::vector<std::vector<double>> logits;
  for (std::size_t p = 0; p < ids.size(); ++p) logits.push_back(decoder.step(ids[p], p));
  return logits;
}

}  // namespace cupel::runtime
