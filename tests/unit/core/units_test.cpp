// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pipeline/units.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "format/layouts/dense.h"

namespace cupel::core {
namespace {

class UnitStoreTest : public ::testing::Test {
 protected:
  ~UnitStoreTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_ =
      (std::filesystem::temp_directory_path() / cat("cupel_units_test_", ::getpid())).string();
};

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
