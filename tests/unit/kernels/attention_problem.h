// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {

struct Shape {
  int64_t heads = 9, kv_heads = 3, head_dim = 64, count = 300;
  int64_t value_dim = head_dim, begin = 0;
  float cap = 0;
  bool sinks = false;
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(head_dim)); }
};

constexpr KvType kKvTypes[] = {KvType::f32, KvType::f16, KvType::int8, KvType::fp8, KvType::int4};

/// Queries, and a cache of more positions than are attended to.
struct Problem {
  Shape shape;
  KvType type;
  std::vector<float> q, keys, values, sinks;       ///< before they were stored
  std::vector<double> stored_keys, stored_values;  ///< what the cache holds, decoded

  Problem(const Shape& s, KvType kv, double deviation = 1.5);
  /// After a change of keys or values.
  void store();
  AttentionQuery query() const;
  KvView view() const;
  std::vector<float> run(Isa isa) const;

 private:
  std::vector<uint8_t> key_bytes_, value_bytes_;
};

/// In float64, over what the cache holds.
std::vector<double> attention_oracle(const Problem& problem);

}  // namespace cupel::kernels
