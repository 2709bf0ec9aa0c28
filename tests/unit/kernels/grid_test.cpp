// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Grids of levels in the integer kernel: against their unpacked matrices, and the same bits at
// every level of instructions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/cat.h"
#include "format/grid_layout.h"
#include "kernels/linear.h"
#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {
namespace {

struct GridCase {
  std::string layout, params;
};

/// Every width, every table of whole levels, every type of scales and outer scales.
const std::vector<GridCase>& coded_grids() {
  static const std::vector<GridCase> cases = {
      {"lut", R"({"grid":"gaussian","bits":2,"group":64})"},
      {"lut", R"({"grid":"gaussian","bits":3,"group":128})"},
      {"lut", R"({"grid":"gaussian","bits":4,"group":32})"},
      {"lut", R"({"grid":"gaussian","bits":5,"group":64})"},
      {"lut", R"({"grid":"gaussian","bits":6,"group":0})"},
      {"lut", R"({"grid":"gaussian","bits":4,"group":16})"},
      {"lut", R"({"grid":"gaussian","bits":6,"group":16,"scale":"e4m3"})"},
      {"lut", R"({"grid":"sign","bits":1,"group":64})"},
      {"lut", R"({"grid":"int","bits":3,"group":256})"},
      {"lut", R"({"grid":"e2m1","bits":4,"group":64,"scale":"e4m3"})"},
      {"nvfp4", "{}"},
      {"mx", R"({"element":"e2m1"})"},
      {"mx", R"({"element":"e2m3"})"},
      {"integer-mx", "{}"},
  };
  return cases;
}

std::vector<float> run(const Linear& linear, const QuantizedInput& x, int64_t m, int64_t pieces) {
  QuantizedInput some = x;
  some.m = m;
  const LinearInput input{.m = m, .quantized = &some};
  std::vector<float> y(static_cast<std::size_t>(m * linear.rows), NAN);
  for (int64_t p = 0; p < pieces; ++p)
    linear.run(input, y.data(), linear.rows, linear.units * p / pieces,
               linear.units * (p + 1) / pieces);
  return y;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_product(const PackedTensor& packed, const QuantizedRows& x,
                    const std::vector<float>& y) {
  const std::vector<float> w = packed.unpacked();
  const int64_t rows = packed.tensor.rows, cols = packed.tensor.cols;
  for (int64_t r = 0; r < x.view.m; ++r)
    for (int64_t o = 0; o < rows; ++o) {
      double sum = 0, magnitude = 0;
      for (int64_t i = 0; i < cols; ++i) {
        const double term =
            static_cast<double>(w[static_cast<std::size_t>(o * cols + i)]) * x.value(r, i);
        sum += term;
        magnitude += std::abs(term);
      }
      ASSERT_NEAR(y[static_cast<std::size_t>(r * rows + o)], sum, 1e-5 * magnitude + 1e-30)
          << r << ", " << o;
    }
}

TEST(CodedGrids, ScalarAgreesWithTheUnpackedMatrixAndEveryLevelWithScalar) {
  constexpr int64_t kMost = 6;
  for (const auto& [layout, params] : coded_grids())
    for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{37, 200}, {16, 40}, {19, 2100}})
      for (const bool int8_mode : {false, true}) {
        SCOPED_TRACE(cat(layout, params, " ", rows, "x", cols, int8_mode ? " int8" : " exact"));
        const PackedTensor packed = pack_random(layout, params, rows, cols);
        const Linear scalar = prepare_linear(packed.tensor, Device::cpu, Isa::scalar, int8_mode);
        ASSERT_TRUE(scalar.form.quantized);
        const QuantizedRows x(normals(kMost * cols, "x"), kMost, cols,
                              {scalar.form.block, !int8_mode});
        const std::vector<float> expected = run(scalar, x.view, kMost, 1);
        expect_product(packed, x, expected);
        for (const Isa isa : available_isas()) {
          const Linear linear = prepare_linear(packed.tensor, Device::cpu, isa, int8_mode);
          const QuantizedRows own(normals(kMost * cols, "x"), kMost, cols,
                                  {scalar.form.block, !int8_mode}, isa);
          EXPECT_EQ(own.first, x.first);
          EXPECT_EQ(own.sums, x.sums);
          for (int64_t m = 1; m <= kMost; ++m)
            ASSERT_TRUE(same_bits(run(linear, x.view, m, 1 + m % 2),
                                  {expected.begin(), expected.begin() + m * rows}))
                << isa_name(isa) << " m " << m;
        }
      }
}

TEST(CodedGrids, ManyRows) {
  constexpr int64_t kM = 70;
  for (const auto& [layout, params] : coded_grids()) {
    SCOPED_TRACE(cat(layout, params));
    const PackedTensor packed = pack_random(layout, params, 21, 1100);
    const Linear scalar = prepare_linear(packed.tensor, Device::cpu, Isa::scalar, false);
    const QuantizedRows x(normals(kM * 1100, "x"), kM, 1100, {scalar.form.block, true});
    const std::vector<float> expected = run(scalar, x.view, kM, 1);
    for (const Isa isa : available_isas())
      EXPECT_TRUE(same_bits(
          run(prepare_linear(packed.tensor, Device::cpu, isa, false), x.view, kM, 2), expected))
          << isa_name(isa);
  }
}

TEST(CodedGrids, TheOthersAreUnpacked) {
  for (const auto& [layout, params] :
       std::vector<GridCase>{{"lut", R"({"grid":"nf","bits":4,"group":64})"},
                             {"lut", R"({"grid":"gaussian","bits":4,"group":48})"},
                             {"lut", R"({"grid":"gaussian","bits":8,"group":64})"},
                             {"lut", R"({"grid":"gaussian","bits":4,"group":64,"scale":"f32"})"},
                             {"sinh", R"({"bits":4,"group":16})"},
                             {"mx", R"({"element":"e4m3"})"},
                             {"fp8", "{}"}}) {
    const PackedTensor packed = pack_random(layout, params, 20, 128);
    EXPECT_FALSE(prepare_linear(packed.tensor, Device::cpu, Isa::scalar, false).form.quantized)
        << layout << params;
  }
}

TEST(WholeLevels, NumbersTimesTheUnitAreTheLevels) {
  const auto levels_of = [](const std::string& name, const std::string& params) {
    const auto layout = format::make_layout(name, params);
    return dynamic_cast<const format::GridLayout&>(*layout).spec();
  };
  for (const auto& [layout, params] : coded_grids()) {
    const format::GridSpec spec = levels_of(layout, params);
    const auto whole = format::whole_levels(spec);
    ASSERT_TRUE(whole) << layout << params;
    for (std::size_t k = 0; k < spec.levels.size(); ++k)
      EXPECT_NEAR(whole->number[k] * whole->unit, spec.levels[k], 1e-6);
  }
  EXPECT_FALSE(format::whole_levels(levels_of("lut", R"({"grid":"nf","bits":4})")));
}

}  // namespace
}  // namespace cupel::kernels
