// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/kernels/attention_problem.h"

namespace cupel::kernels {
namespace {

std::string name_of(KvType type, Isa isa) {
  return std::string(kv_type_name(type)) + ' ' + std::string(isa_name(isa));
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
                                     {3, 1, 6, 270},
                                     {2, 2, 1, 33},
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
  for (const Shape& shape : shapes)
    for (const KvType type : kKvTypes) {
      const Problem problem(shape, type);
      const auto expected = attention_oracle(problem);
      const auto scalar = problem.run(Isa::scalar);
      for (const Isa isa : available_isas()) {
        const auto out = problem.run(isa);
        EXPECT_EQ(out, scalar) << name_of(type, isa);
        for (std::size_t i = 0; i < out.size(); ++i)
          ASSERT_NEAR(out[i], expected[i], 2e-5)
              << name_of(type, isa) << " heads " << shape.heads << " dim " << shape.head_dim
              << " count " << shape.count << " begin " << shape.begin << " at " << i;
      }
    }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  for (const KvType type : kKvTypes) {
    const Problem problem({4, 2, 64, 600}, type, 40.0);
    const auto expected = attention_oracle(problem);
    for (const Isa isa : available_isas()) {
      const auto out = problem.run(isa);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], 5e-3) << name_of(type, isa);
    }
  }
}

TEST(Attention, HeadsDoNotDependOnTheSplitOrOnTheCacheBehind) {
  const Shape shape{14, 2, 64, 600};
  for (const KvType type : kKvTypes) {
    const Problem problem(shape, type);
    // What lies behind the last position must not matter, NaN included.
    Problem spoiled = problem;
    const auto end = static_cast<std::ptrdiff_t>(shape.count * shape.kv_heads * shape.head_dim);
    std::fill(spoiled.keys.begin() + end, spoiled.keys.end(), NAN);
    std::fill(spoiled.values.begin() + end, spoiled.values.end(), NAN);
    spoiled.store();
    for (const Isa isa : available_isas()) {
      const auto whole = problem.run(isa);
      for (const int64_t piece : {1, 2, 3, 5, 13}) {
        std::vector<float> out(whole.size(), NAN);
        for (int64_t h = 0; h < shape.heads; h += piece)
          cpu_kernels(isa).attention(problem.query(), problem.view(), out.data(), h,
                                     std::min(h + piece, shape.heads));
        EXPECT_EQ(out, whole) << name_of(type, isa) << " pieces of " << piece;
      }
      EXPECT_EQ(spoiled.run(isa), whole) << name_of(type, isa);
    }
  }
}

TEST(Attention, WhatLiesBeforeTheWindowDoesNotMatter) {
  for (const KvType type : kKvTypes) {
    const Problem problem({.count = 400, .begin = 101}, type);
    Problem spoiled = problem;
    const std::ptrdiff_t before = 101 * 3 * 64;
    std::fill_n(spoiled.keys.begin(), before, NAN);
    std::fill_n(spoiled.values.begin(), before, NAN);
    spoiled.store();
    for (const Isa isa : available_isas())
      EXPECT_EQ(spoiled.run(isa), problem.run(isa)) << name_of(type, isa);
  }
}

TEST(Attention, SameBitsWhereverTheCacheLies) {
  // One KV head alone, and the same head between others: the stride differs, the numbers do not.
  const Shape alone{3, 1, 64, 400}, among{9, 3, 64, 400};
  for (const KvType type : kKvTypes) {
    Problem wide(among, type), narrow(alone, type);
    const auto copy_head = [&](auto& to, const auto& from) {
      for (int64_t t = 0; t < alone.count; ++t)
        for (int64_t d = 0; d < 64; ++d)
          to[static_cast<std::size_t>(t * 64 + d)] =
              from[static_cast<std::size_t>((t * 3 + 1) * 64 + d)];
    };
    copy_head(narrow.keys, wide.keys);
    copy_head(narrow.values, wide.values);
    narrow.store();
    std::copy_n(wide.q.begin() + 3 * 64, 3 * 64, narrow.q.begin());
    for (const Isa isa : available_isas()) {
      const auto of_wide = wide.run(isa), of_narrow = narrow.run(isa);
      EXPECT_TRUE(std::equal(of_narrow.begin(), of_narrow.end(), of_wide.begin() + 3 * 64))
          << name_of(type, isa);
    }
  }
}

TEST(Attention, NanInOneKvHeadShowsInItsHeadsAlone) {
  const Shape shape{4, 2, 48, 300};
  for (const KvType type : kKvTypes)
    for (const bool in_keys : {true, false}) {
      Problem problem(shape, type);
      // Of KV head 1 at position 270, dimension 40.
      (in_keys ? problem.keys : problem.values)[(270 * 2 + 1) * 48 + 40] = NAN;
      problem.store();
      const Problem clean(shape, type);
      for (const Isa isa : available_isas()) {
        const auto out = problem.run(isa), before = clean.run(isa);
        EXPECT_TRUE(std::equal(out.begin(), out.begin() + 2 * 48, before.begin()));
        for (const std::size_t head : {2U, 3U})
          EXPECT_TRUE(std::isnan(out[head * 48 + 40])) << name_of(type, isa) << ' ' << in_keys;
      }
    }
}

TEST(Attention, ZeroKeysGiveTheMeanOfTheValues) {
  const Shape shape{2, 1, 48, 20};
  for (const KvType type : kKvTypes) {
    Problem problem(shape, type);
    std::ranges::fill(problem.keys, 0.0F);
    std::fill_n(problem.values.begin(), 5 * 48, 0.0F);
    problem.store();
    for (const Isa isa : available_isas()) {
      const auto out = problem.run(isa);
      for (std::size_t d = 0; d < 48; ++d) {
        double mean = 0;
        for (std::size_t t = 0; t < 20; ++t) mean += problem.stored_values[t * 48 + d] / 20;
        EXPECT_NEAR(out[d], mean, 1e-6) << name_of(type, isa);
      }
    }
  }
}

}  // namespace
}  // namespace cupel::kernels
