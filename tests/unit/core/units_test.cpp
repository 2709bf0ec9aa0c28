// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pipeline/units.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "core/tensor_util.h"
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
  m.result.code.rounding = {format::InputRounding::Numbers::integer, 4, 0, 0.012345678F, 0.85F};
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

TEST_F(UnitStoreTest, OneCodeOfAUnitComesBack) {
  const UnitStore store(folder_);
  std::vector<QuantizedMatrix> unit(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<float> w(24, static_cast<float>(i) + 0.5F);
    unit[i] = {.name = cat("w", i), .method = "quant.rtn", .relative_error = 0.25};
    unit[i].result.code = format::dense_code(format::ElementType::f16, 2, 12, w);
    unit[i].result.note = "a note";
  }
  FinishedMatrix second = finished(unit[1], "key", 1);
  EXPECT_EQ(second.note, "a note");
  EXPECT_EQ(second.rows, 2);
  EXPECT_EQ(second.relative_error, 0.25);
  store.save_codes("key", unit);
  EXPECT_TRUE(at::equal(decoded_weight(store.load_code(second)), at::full({2, 12}, 1.5)));

  const auto expect_fault = [&](const FinishedMatrix& m, Fault fault, const std::string& text) {
    try {
      store.load_code(m);
      FAIL() << "nothing was thrown";
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), fault);
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  };
  second.index = 0;
  expect_fault(second, Fault::data, "no codes of w1 at place 0");
  second.unit = "another";
  expect_fault(second, Fault::environment, "the codes of w1 are gone");
}

}  // namespace
}  // namespace cupel::core
