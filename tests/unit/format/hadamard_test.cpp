// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/hadamard.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cupel::format {
namespace {

/// H H^T = n I, in integers. Rows as bits: two rows agree in n / 2 places.
void expect_hadamard(int64_t n) {
  const auto h = hadamard_matrix(n);
  ASSERT_EQ(h.size(), static_cast<std::size_t>(n) * n);
  for (const int8_t entry : h) ASSERT_TRUE(entry == 1 || entry == -1);
  for (int64_t a = 0; a < n; ++a)
    for (int64_t b = 0; b <= a; ++b) {
      int sum = 0;
      for (int64_t c = 0; c < n; ++c) sum += h[a * n + c] * h[b * n + c];
      ASSERT_EQ(sum, a == b ? n : 0) << "order " << n << ", rows " << a << " and " << b;
    }
}

TEST(Hadamard, RowsAreOrthogonal) {
  for (const int n : {1,  2,  4,   8,   12,  20,  28,  36,  44,  52,  60,  68,
                      76, 84, 100, 108, 124, 140, 148, 344, 924, 684, 1020})
    expect_hadamard(n);
}

TEST(Hadamard, RowsOfProductsWithPowersOfTwoAreOrthogonal) {
  for (const int n : {16, 128, 24, 40, 56, 96, 152, 200, 272, 448, 688}) expect_hadamard(n);
}

TEST(Hadamard, KnownMatrices) {
  EXPECT_EQ(hadamard_matrix(2), (std::vector<int8_t>{1, 1, 1, -1}));
  // Paley I over GF(11), whose squares are 1, 3, 4, 5, 9: row 1 is -1, then 1 on the diagonal, then
  // chi(0 - b).
  const auto f = hadamard_factor(12);
  const std::vector<int8_t> row(f.begin() + 12, f.begin() + 24);
  EXPECT_EQ(row, (std::vector<int8_t>{-1, 1, -1, 1, -1, -1, -1, 1, 1, 1, -1, 1}));
  for (int b = 0; b < 12; ++b) EXPECT_EQ(f[b], 1);
  // Paley II over GF(17): symmetric.
  const auto g = hadamard_factor(36);
  for (int a = 0; a < 36; ++a)
    for (int b = 0; b < 36; ++b) EXPECT_EQ(g[a * 36 + b], g[b * 36 + a]);
}

TEST(Hadamard, TheSmallestFactorIsTaken) {
  const auto factors = [](int64_t n) {
    const auto order = hadamard_order(n);
    return order ? std::pair(int64_t{order->factor}, order->power) : std::pair(int64_t{0}, n);
  };
  using Pair = std::pair<int64_t, int64_t>;
  for (int64_t n = 1; n <= 1 << 20; n *= 2) EXPECT_EQ(factors(n), Pair(1, n));
  const Pair expected[] = {{76, 64},  {76, 128},  {148, 128}, {68, 256}, {100, 256}, {924, 32},
                           {44, 128}, {108, 64},  {28, 32},   {28, 128}, {344, 32},  {108, 128},
                           {28, 512}, {28, 1024}, {108, 256}, {140, 64}, {52, 1024}, {36, 16},
                           {12, 128}, {60, 16},   {20, 128},  {684, 16}};
  for (const Pair& pair : expected) EXPECT_EQ(factors(pair.first * pair.second), pair);
}

TEST(Hadamard, RefusesOrdersThatNobodyBuilds) {
  for (const int64_t n : {-4, 0, 3, 6, 7, 92, 116, 156, 172, 184, 188, 257, 1028, 4 * 4099})
    EXPECT_FALSE(hadamard_order(n)) << n;
  EXPECT_THROW(hadamard_matrix(92), Error);
  EXPECT_THROW(hadamard_factor(92), Error);
  // A larger factor may exist where the first does not.
  EXPECT_EQ(hadamard_order(368)->factor, 368);
}

TEST(Hadamard, EveryMultipleOfFourToFourHundredThatIsKnownFromPaley) {
  std::vector<int64_t> missing;
  for (int64_t n = 4; n <= 400; n += 4)
    if (!hadamard_order(n)) missing.push_back(n);
  EXPECT_EQ(missing, (std::vector<int64_t>{92, 116, 156, 172, 184, 188, 232, 236, 260, 268, 292,
                                           324, 356, 372, 376}));
}

}  // namespace
}  // namespace cupel::format
