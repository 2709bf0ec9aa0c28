// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "tests/unit/kernels/attention_problem.h"

#include <algorithm>
#include <cstring>

namespace cupel::kernels {
namespace {

/// [heads of all positions, dim] to bytes, and back to numbers.
void store_plane(KvType type, const std::vector<float>& x, int64_t dim, std::vector<uint8_t>& bytes,
                 std::vector<double>& numbers) {
  const auto heads = static_cast<int64_t>(x.size()) / dim;
  const int64_t head_bytes = kv_head_bytes(type, dim);
  bytes.assign(static_cast<std::size_t>(heads * head_bytes), 0xee);
  if (type == KvType::f32)
    std::memcpy(bytes.data(), x.data(), bytes.size());
  else if (type == KvType::f16)
    cpu_kernels(Isa::scalar)
        .to_f16(x.data(), reinterpret_cast<uint16_t*>(bytes.data()),
                static_cast<int64_t>(x.size()));
  else
    cpu_kernels(Isa::scalar).pack_kv(type, x.data(), heads, dim, bytes.data());
  numbers.clear();
  for (int64_t h = 0; h < heads; ++h) {
    const uint8_t* head = bytes.data() + h * head_bytes;
    for (int64_t d = 0; d < dim; ++d)
      numbers.push_back(static_cast<double>(kv_factor(type, head)) * kv_code(type, head, d));
  }
}

/// The score of every position that head h sees.
std::vector<double> scores_of(const Problem& p, int64_t h) {
  const Shape& s = p.shape;
  const int64_t kv = h / (s.heads / s.kv_heads);
  std::vector<double> scores;
  for (int64_t t = s.begin; t < s.count; ++t) {
    double dot = 0;
    for (int64_t d = 0; d < s.head_dim; ++d)
      dot += static_cast<double>(p.q[static_cast<std::size_t>(h * s.head_dim + d)]) *
             p.stored_keys[static_cast<std::size_t>((t * s.kv_heads + kv) * s.head_dim + d)];
    dot *= s.scale();
    scores.push_back(s.cap > 0 ? s.cap * std::tanh(dot / s.cap) : dot);
  }
  return scores;
}

}  // namespace

Problem::Problem(const Shape& s, KvType kv, double deviation) : shape(s), type(kv) {
  q = normals(s.heads * s.head_dim, "q", deviation);
  keys = normals((s.count + 3) * s.kv_heads * s.head_dim, "keys", deviation);
  values = normals((s.count + 3) * s.kv_heads * s.value_dim, "values");
  sinks = normals(s.heads, "sinks", 3.0);
  store();
}

void Problem::store() {
  store_plane(type, keys, shape.head_dim, key_bytes_, stored_keys);
  store_plane(type, values, shape.value_dim, value_bytes_, stored_values);
}

AttentionQuery Problem::query() const {
  return {.q = q.data(),
          .heads = shape.heads,
          .begin = shape.begin,
          .end = shape.count,
          .scale = shape.scale(),
          .cap = shape.cap,
          .sinks = shape.sinks ? sinks.data() : nullptr};
}

KvView Problem::view() const {
  return {type,           key_bytes_.data(), value_bytes_.data(),
          shape.kv_heads, shape.head_dim,    shape.value_dim};
}

std::vector<float> Problem::run(Isa isa) const {
  std::vector<float> out(static_cast<std::size_t>(shape.heads * shape.value_dim), NAN);
  cpu_kernels(isa).attention(query(), view(), out.data(), 0, shape.heads);
  return out;
}

std::vector<double> attention_oracle(const Problem& p) {
  const Shape& s = p.shape;
  std::vector<double> out(static_cast<std::size_t>(s.heads * s.value_dim));
  for (int64_t h = 0; h < s.heads; ++h) {
    const int64_t kv = h / (s.heads / s.kv_heads);
    const auto scores = scores_of(p, h);
    double highest = *std::ranges::max_element(scores), sum = 0;
    if (s.sinks) {
      const double sink = p.sinks[static_cast<std::size_t>(h)];
      highest = std::max(highest, sink);
      sum = std::exp(sink - highest);
    }
    double* row = out.data() + h * s.value_dim;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double weight = std::exp(scores[i] - highest);
      const int64_t t = s.begin + static_cast<int64_t>(i);
      sum += weight;
      for (int64_t d = 0; d < s.value_dim; ++d)
        row[d] +=
            weight *
            p.stored_values[static_cast<std::size_t>((t * s.kv_heads + kv) * s.value_dim + d)];
    }
    for (int64_t d = 0; d < s.value_dim; ++d) row[d] /= sum;
  }
  return out;
}

}  // namespace cupel::kernels
