// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace cupel {
namespace {

using Block = std::array<uint32_t, 4>;

// The known-answer vectors that the authors of Philox publish with their code.
TEST(Rng, PhiloxKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Results of runs must not change from one release to the next without notice.
TEST(Rng, StreamsArePinned) {
  Rng rng(17, "layers.3.mlp.up");
  EXPECT_EQ(rng.next_u32(), 1039612309u);
  EXPECT_EQ(rng.child("x").next_u32(), 3768476347u);
  EXPECT_EQ(rng.child(7).next_u32(), 1235865030u);
}

TEST(Rng, StreamsDiffer) {
  std::set<uint64_t> first;
  const Rng root(1);
  for (Rng rng : {root, Rng(2), Rng(1, "a"), Rng(1, "b"), root.child("a"), root.child(0),
                  root.child(1), root.child("0"), root.child("a").child("a")})
    first.insert(rng.next_u64());
  EXPECT_EQ(first.size(), 9u);
}

TEST(Rng, ChildDoesNotDependOnPosition) {
  Rng a(5), b(5);
  a.next_u32();
  EXPECT_EQ(a.child("x").next_u64(), b.child("x").next_u64());
}

TEST(Rng, SeekGoesOn) {
  Rng rng(3);
  std::vector<uint32_t> values;
  for (int i = 0; i < 23; ++i) {
    EXPECT_EQ(rng.position(), static_cast<uint64_t>(i));
    values.push_back(rng.next_u32());
  }
  for (uint64_t i = 0; i < 23; ++i) {
    Rng other(3);
    other.seek(i);
    EXPECT_EQ(other.position(), i);
    EXPECT_EQ(other.next_u32(), values[i]);
  }
  Rng normals(4);
  normals.normal();
  Rng resumed(4);
  resumed.seek(normals.position());
  EXPECT_EQ(resumed.normal(), normals.normal());
}

TEST(Rng, UniformMoments) {
  Rng rng(1);
  const int n = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
}

TEST(Rng, NormalMoments) {
  Rng rng(1);
  const int n = 100'000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < n; ++i) {
    const double z = rng.normal();
    ASSERT_TRUE(std::isfinite(z));
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / n, 0, 0.015);
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(fourth / n, 3, 0.15);
}

TEST(Rng, BelowCoversEvenly) {
  Rng rng(1);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[rng.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.below(1), 0u);
  const uint64_t large = (uint64_t{1} << 63) + 1;
  for (int i = 0; i < 100; ++i) EXPECT_LT(rng.below(large), large);
}

}  // namespace
}  // namespace cupel
