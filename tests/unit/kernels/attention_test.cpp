// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {
namespace {

using format::ElementType;

struct Shape {
  int64_t heads = 9, kv_heads = 3, head_dim = 64, count = 300;
  int64_t value_dim = head_dim, begin = 0;
  float cap = 0;
  bool sinks = false;
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(head_dim)); }
};

/// Queries, and a cache of more positions than are attended to, as both element types.
struct Problem {
  Shape shape;
  std::vector<float> q, keys, values, sinks;
  std::vector<uint16_t> half_keys, half_values;

  explicit Problem(const Shape& s, double deviation = 1.5) : shape(s) {
    q = normals(s.heads * s.head_dim, "q", deviation);
    keys = normals((s.count + 3) * s.kv_heads * s.head_dim, "keys", deviation);
    values = normals((s.count + 3) * s.kv_heads * s.value_dim, "values");
    sinks = normals(s.heads, "sinks", 3.0);
    for (auto [from, to] : {std::pair{&keys, &half_keys}, std::pair{&values, &half_values}}) {
      to->resize(from->size());
      for (std::size_t i = 0; i < from->size(); ++i) {
        (*to)[i] = format::f32_to_f16((*from)[i]);
        (*from)[i] = format::f16_to_f32((*to)[i]);  // one oracle for both types
      }
    }
  }
  KvView view(ElementType type) const {
    const bool half = type == ElementType::f16;
    return {type,
            half ? static_cast<const void*>(half_keys.data()) : keys.data(),
            half ? static_cast<const void*>(half_values.data()) : values.data(),
            shape.kv_heads,
            shape.head_dim,
            shape.value_dim};
  }
  AttentionQuery query() const {
    return {.q = q.data(),
            .heads = shape.heads,
            .begin = shape.begin,
            .end = shape.count,
            .scale = shape.scale(),
            .cap = shape.cap,
            .sinks = shape.sinks ? sinks.data() : nullptr};
  }
  std::vector<float> run(ElementType type, Isa isa) const {
    std::vector<float> out(static_cast<std::size_t>(shape.heads * shape.value_dim), NAN);
    cpu_kernels(isa).attention(query(), view(type), out.data(), 0, shape.heads);
    return out;
  }
};

/// The score of every position that head h sees.
std::vector<double> scores_of(const Problem& p, int64_t h) {
  const Shape& s = p.shape;
  const int64_t kv = h / (s.heads / s.kv_heads);
  std::vector<double> scores;
  for (int64_t t = s.begin; t < s.count; ++t) {
    double dot = 0;
    for (int64_t d = 0; d < s.head_dim; ++d)
      dot += static_cast<double>(p.q[static_cast<std::size_t>(h * s.head_dim + d)]) *
             p.keys[static_cast<std::size_t>((t * s.kv_heads + kv) * s.head_dim + d)];
    dot *= s.scale();
    scores.push_back(s.cap > 0 ? s.cap * std::tanh(dot / s.cap) : dot);
  }
  return scores;
}

std::vector<double> oracle(const Problem& p) {
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
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double weight = std::exp(scores[i] - highest);
      const int64_t t = s.begin + static_cast<int64_t>(i);
      sum += weight;
      for (int64_t d = 0; d < s.value_dim; ++d)
        out[static_cast<std::size_t>(h * s.value_dim + d)] +=
            weight * p.values[static_cast<std::size_t>((t * s.kv_heads + kv) * s.value_dim + d)];
    }
    for (int64_t d = 0; d < s.value_dim; ++d)
      out[static_cast<std::size_t>(h * s.value_dim + d)] /= sum;
  }
  return out;
}

TEST(Attention, AgreesWithDouble) {
  const std::vector<Shape> shapes = {{1, 1, 8, 1},
                                     {2, 2, 64, 7},
                                     {9, 3, 64, 255},
                                     {9, 3, 64, 256},
                                     {9, 3, 64, 257},
                                     {14, 2, 64, 700},
                                     {4, 1, 128, 513},
                                     {3, 3, 80, 300},
                                     {2, 1, 20, 40},
                                     {5, 1, 36, 1000},
                                     {8, 2, 256, 260},
                                     // Windows, caps, sinks, values of another width.
                                     {.count = 700, .begin = 250},
                                     {.count = 300, .begin = 299},
                                     {.count = 300, .cap = 2},
                                     {.count = 300, .begin = 7, .cap = 50, .sinks = true},
                                     {.count = 1, .sinks = true},
                                     {.count = 520, .sinks = true},
                                     {4, 4, 48, 300, 32},
                                     {4, 4, 24, 300, 40},
                                     {6, 2, 20, 40, 12, 3, 5, true}};
  for (const Shape& shape : shapes) {
    const Problem problem(shape);
    const auto expected = oracle(problem);
    for (const ElementType type : {ElementType::f32, ElementType::f16})
      for (const Isa isa : available_isas()) {
        const auto out = problem.run(type, isa);
        EXPECT_EQ(out, problem.run(type, Isa::scalar)) << isa_name(isa);
        for (std::size_t i = 0; i < out.size(); ++i)
          ASSERT_NEAR(out[i], expected[i], 2e-5)
              << isa_name(isa) << " heads " << shape.heads << " dim " << shape.head_dim << " count "
              << shape.count << " begin " << shape.begin << " at " << i;
      }
  }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  const Problem problem({4, 2, 64, 600}, 40.0);
  const auto expected = oracle(problem);
  for (const Isa isa : available_isas()) {
    const auto out = problem.run(ElementType::f16, isa);
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_NEAR(out[i], expected[i], 5e-3) << isa_name(isa);
  }
}

TEST(Attention, HeadsDoNotDependOnTheSplitOrOnTheCacheBehind) {
  const Shape shape{14, 2, 64, 600};
  const Problem problem(shape);
  for (const ElementType type : {ElementType::f32, ElementType::f16})
    for (const Isa isa : available_isas()) {
      const auto whole = problem.run(type, isa);
      for (const int64_t piece : {1, 2, 3, 5, 13}) {
        std::vector<float> out(whole.size(), NAN);
        for (int64_t h = 0; h < shape.heads; h += piece)
          cpu_kernels(isa).attention(problem.query(), problem.view(type), out.data(), h,
                                     std::min(h + piece, shape.heads));
        EXPECT_EQ(out, whole) << isa_name(isa) << " pieces of " << piece;
      }
      // What lies behind the last position must not matter, NaN included.
      Problem spoiled = problem;
      const auto end = static_cast<std::ptrdiff_t>(shape.count * shape.kv_heads * shape.head_dim);
      std::fill(spoiled.keys.begin() + end, spoiled.keys.end(), NAN);
      std::fill(spoiled.values.begin() + end, spoiled.values.end(), NAN);
      std::fill(spoiled.half_keys.begin() + end, spoiled.half_keys.end(), uint16_t{0x7e00});
      std::fill(spoiled.half_values.begin() + end, spoiled.half_values.end(), uint16_t{0x7e00});
      EXPECT_EQ(spoiled.run(type, isa), whole) << isa_name(isa);
    }
}

TEST(Attention, WhatLiesBeforeTheWindowDoesNotMatter) {
  const Problem problem({.count = 400, .begin = 101});
  Problem spoiled = problem;
  const std::ptrdiff_t before = 101 * 3 * 64;
  std::fill_n(spoiled.keys.begin(), before, NAN);
  std::fill_n(spoiled.values.begin(), before, NAN);
  for (const Isa isa : available_isas())
    EXPECT_EQ(spoiled.run(ElementType::f32, isa), problem.run(ElementType::f32, isa));
}

TEST(Attention, SameBitsWhereverTheCacheLies) {
  // One KV head alone, and the same head between others: the stride differs, the numbers do not.
  const Shape alone{3, 1, 64, 400}, among{9, 3, 64, 400};
  Problem wide(among), narrow(alone);
  const auto copy_head = [&](auto& to, const auto& from) {
    for (int64_t t = 0; t < alone.count; ++t)
      for (int64_t d = 0; d < 64; ++d)
        to[static_cast<std::size_t>(t * 64 + d)] =
            from[static_cast<std::size_t>((t * 3 + 1) * 64 + d)];
  };
  copy_head(narrow.half_keys, wide.half_keys);
  copy_head(narrow.half_values, wide.half_values);
  std::copy_n(wide.q.begin() + 3 * 64, 3 * 64, narrow.q.begin());
  for (const Isa isa : available_isas()) {
    const auto of_wide = wide.run(ElementType::f16, isa),
               of_narrow = narrow.run(ElementType::f16, isa);
    EXPECT_TRUE(std::equal(of_narrow.begin(), of_narrow.end(), of_wide.begin() + 3 * 64))
        << isa_name(isa);
  }
}

}  // namespace
}  // namespace cupel::kernels
