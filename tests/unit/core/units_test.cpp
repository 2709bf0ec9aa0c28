// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pipeline/units.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "format/layouts/dense.h"
#include "tests/unit/core/quant_data.h"

namespace cupel::core {
namespace {

class UnitStoreTest : public ::testing::Test {
 protected:
  ~UnitStoreTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_ =
      (std::filesystem::temp_directory_path() / cat("cupel_units_test_", ::getpid())).string();
};

TEST_F(UnitStoreTest, StatisticsComeBack) {
  const UnitStore store(folder_);
  const at::Tensor x = testing::normals({40, 12}, "x");
  for (const bool second_moment : {false, true})
    for (const bool absmax : {false, true})
      for (const bool abs_sum : {false, true}) {
        Stats stats;
        stats.add({.second_moment = second_moment,
                   .absmax = absmax,
                   .abs_sum = abs_sum,
                   .cross_moment = second_moment},
                  x, 2 * x);
        store.save_stats("key", stats);
        const auto back = store.load_stats("key");
        ASSERT_TRUE(back.has_value());
        EXPECT_EQ(back->tokens, 40);
        const auto expect_same = [](const at::Tensor& a, const at::Tensor& b, bool there) {
          ASSERT_EQ(a.defined(), there);
          ASSERT_EQ(b.defined(), there);
          if (there) {
            EXPECT_TRUE(at::equal(a, b));
          }
        };
        expect_same(back->second_moment_ii, stats.second_moment_ii, second_moment);
        expect_same(back->cross_moment_ii, stats.cross_moment_ii, second_moment);
        expect_same(back->absmax_i, stats.absmax_i, absmax);
        expect_same(back->abs_sum_i, stats.abs_sum_i, abs_sum);
      }
  store.drop_stats("key");
  EXPECT_FALSE(store.load_stats("key").has_value());
}

TEST_F(UnitStoreTest, TransformsComeBack) {
  const UnitStore store(folder_);
  const std::vector<float> w(24, 0.5F);
  QuantizedMatrix m{.name = "w", .method = "quant.rtn"};
  m.result.code = format::dense_code(format::ElementType::f16, 2, 12, w);
  auto& input = m.result.code.input;
  input = {.id = "group.scaled.hadamard12-1", .hadamard = 12};
  for (int i = 0; i < 12; ++i) {
    input.scale.push_back(0.25F * static_cast<float>(i + 1));
    input.signs.push_back(i % 3 == 0 ? -1 : 1);
  }
  m.result.code.rounding = {format::InputRounding::Numbers::integer, 4, 0, 0.012345678F};
  m.result.fallback = "no scaling of inputs: no calibration token reached it";
  m.result.note = "awq exponent 0.45";
  store.save_codes("key", {m});
  const auto back = store.load_codes("key");
  ASSERT_TRUE(back.has_value());
  ASSERT_EQ(back->size(), 1u);
  const auto& code = back->front().result.code;
  EXPECT_EQ(code.input.id, input.id);
  EXPECT_EQ(code.input.hadamard, 12);
  EXPECT_EQ(code.input.scale, input.scale);
  EXPECT_EQ(code.input.signs, input.signs);
  EXPECT_EQ(code.rounding, m.result.code.rounding);
  EXPECT_EQ(code.arrays.begin()->second.bytes, m.result.code.arrays.begin()->second.bytes);
  EXPECT_EQ(back->front().result.fallback, m.result.fallback);
  EXPECT_EQ(back->front().result.note, m.result.note);
}

}  // namespace
}  // namespace cupel::core
