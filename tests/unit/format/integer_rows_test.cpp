// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/integer_rows.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/unit/export/tiny_model.h"

namespace cupel::format {
namespace {

/// The product with int8 activations, as integers and as dequantized numbers in float64.
void expect_exact(const WeightCode& code, int64_t row) {
  const auto exact = integer_row(code, row);
  ASSERT_TRUE(exact.has_value()) << row;
  std::vector<float> w(static_cast<std::size_t>(code.rows * code.cols));
  code.layout->decode(code, w);
  Rng rng(9, "activations");
  int32_t integers = 0;
  double reference = 0;
  for (int64_t i = 0; i < code.cols; ++i) {
    const auto x = static_cast<int32_t>(rng.below(255)) - 127;
    const float value = w[static_cast<std::size_t>(row * code.cols + i)];
    integers += x * exact->values[static_cast<std::size_t>(i)];
    reference += static_cast<double>(x) * static_cast<double>(value);
    EXPECT_EQ(value, static_cast<float>(exact->values[static_cast<std::size_t>(i)]) * exact->scale);
    EXPECT_LE(std::abs(exact->values[static_cast<std::size_t>(i)]), 120);
  }
  EXPECT_NEAR(static_cast<double>(exact->scale) * integers, reference,
              1e-6 * static_cast<double>(exact->scale) * 127 * 120 * std::sqrt(code.cols));
}

TEST(IntegerRows, TheMultiplierFormatIsAlwaysExact) {
  const auto layout = make_layout("integer-mx", "{}");
  const WeightCode code = test::random_code(layout, 5, 100, Rng(2));
  for (int64_t row = 0; row < 5; ++row) expect_exact(code, row);
}

TEST(IntegerRows, Mxfp4IsExactUpToASpanOfThree) {
  const auto layout = make_layout("mx", "{}");
  WeightCode code = test::random_code(layout, 4, 128, Rng(2));
  auto* scales = reinterpret_cast<uint8_t*>(code.arrays.at("scales").bytes.data());
  const uint8_t chosen[4][4] = {
      {120, 121, 122, 123}, {120, 124, 121, 121}, {5, 5, 5, 5}, {250, 247, 248, 249}};
  for (int r = 0; r < 4; ++r)
    for (int g = 0; g < 4; ++g) scales[4 * r + g] = chosen[r][g];
  expect_exact(code, 0);
  EXPECT_FALSE(integer_row(code, 1).has_value());
  expect_exact(code, 2);
  EXPECT_FALSE(integer_row(test::random_code(make_layout("nvfp4", "{}"), 2, 32, Rng(1)), 0));
}

}  // namespace
}  // namespace cupel::format
