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
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(head_dim)); }
};

/// Queries, and a cache of more positions than are attended to, as both element types.
struct Problem {
  Shape shape;
  std::vector<float> q, keys, values;
  std::vector<uint16_t> half_keys, half_values;

  explicit Problem(const Shape& s, double deviation = 1.5) : shape(s) {
    const int64_t cache = (s.count + 3) * s.kv_heads * s.head_dim;
    q = normals(s.heads * s.head_dim, "q", deviation);
    keys = normals(cache, "keys", deviation);
    values = normals(cache, "values");
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
    return {type, half ? static_cast<const void*>(half_keys.data()) : keys.data(),
            half ? static_cast<const void*>(half_values.data()) : values.data(), shape.kv_heads,
            shape.head_dim};
  }
  std::vector<float> run(ElementType type, Isa isa) const {
    std::vector<float> out(q.size(), NAN);
    cpu_kernels(isa).attention(q.data(), view(type), shape.count, shape.heads, shape.scale(),
                               out.data(), 0, shape.heads);
    return out;
  }
};

std::vector<double> oracle(const Problem& p) {
  const Shape& s = p.shape;
  std::vector<double> out(p.q.size());
  for (int64_t h = 0; h < s.heads; ++h) {
    const int64_t kv = h / (s.heads / s.kv_heads);
    const auto at = [&](int64_t position, int64_t d) {
      return static_cast<std::size_t>((position * s.kv_heads + kv) * s.head_dim + d);
    };
    std::vector<double> scores(static_cast<std::size_t>(s.count));
    for (int64_t t = 0; t < s.count; ++t) {
      double dot = 0;
      for (int64_t d = 0; d < s.head_dim; ++d)
        dot += static_cast<double>(p.q[static_cast<std::size_t>(h * s.head_dim + d)]) *
               p.keys[at(t, d)];
      scores[static_cast<std::size_t>(t)] = dot * s.scale();
    }
    const double highest = *std::ranges::max_element(scores);
    double sum = 0;
    for (int64_t t = 0; t < s.count; ++t) {
      const double weight = std::exp(scores[static_cast<std::size_t>(t)] - highest);
      sum += weight;
      for (int64_t d = 0; d < s.head_dim; ++d)
        out[static_cast<std::size_t>(h * s.head_dim + d)] += weight * p.values[at(t, d)];
    }
    for (int64_t d = 0; d < s.head_dim; ++d)
      out[static_cast<std::size_t>(h * s.head_dim + d)] /= sum;
  }
  return out;
}

TEST(Attention, AgreesWithDouble) {
  const std::vector<Shape> shapes = {{1, 1, 8, 1},     {2, 2, 64, 7},   {9, 3, 64, 255},
                                     {9, 3, 64, 256},  {9, 3, 64, 257}, {14, 2, 64, 700},
                                     {4, 1, 128, 513}, {3, 3, 80, 300}, {2, 1, 20, 40},
                                     {5, 1, 36, 1000}, {8, 2, 256, 260}};
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
              << shape.count << " at " << i;
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
          cpu_kernels(isa).attention(problem.q.data(), problem.view(type), shape.count, shape.heads,
                                     shape.scale(), out.data(), h,
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
