// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/cat.h"
#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {
namespace {

constexpr int64_t kRows = 7;  // of x
const std::vector<int> kGroups = {32, 64, 128, 256, 512, 1024, 0};

/// Every width, symmetry and group with the given shape.
std::vector<UniformSpec> specs(int64_t rows, const std::vector<int64_t>& widths) {
  std::vector<UniformSpec> out;
  for (int bits = 1; bits <= 8; ++bits)
    for (const bool symmetric : {true, false})
      for (const int group : kGroups)
        for (const int64_t cols : widths) out.push_back({bits, symmetric, group, rows, cols});
  return out;
}

/// y [x.m, rows] of stripes [begin, end), the rest untouched.
void multiply_into(std::vector<float>& y, const CodedMatrix& w, const QuantizedInput& x, Isa isa,
                   int64_t begin, int64_t end) {
  cpu_kernels(isa).coded(w, x, y.data(), w.rows, begin, end);
}

std::vector<float> multiply(const CodedMatrix& w, const QuantizedInput& x, Isa isa) {
  std::vector<float> y(static_cast<std::size_t>(x.m * w.rows), NAN);
  multiply_into(y, w, x, isa, 0, (w.rows + 15) / 16);
  return y;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Uniform, ScalarAgreesWithTheUnpackedMatrix) {
  for (const UniformSpec& spec : specs(19, {1, 100, 2100})) {
    const PackedTensor packed = pack_uniform(spec);
    const std::vector<float> weights = packed.unpacked();
    for (const BlockForm form : block_forms(spec)) {
      const QuantizedRows x(normals(2 * spec.cols, "x"), 2, spec.cols, form);
      const std::vector<float> y = multiply(uniform_matrix(packed), x.view, Isa::scalar);
      for (int64_t r = 0; r < 2; ++r)
        for (int64_t o = 0; o < spec.rows; ++o) {
          double sum = 0, magnitude = 0;
          for (int64_t i = 0; i < spec.cols; ++i) {
            const double term =
                weights[static_cast<std::size_t>(o * spec.cols + i)] * x.value(r, i);
            sum += term;
            magnitude += std::abs(term);
          }
          ASSERT_NEAR(y[static_cast<std::size_t>(r * spec.rows + o)], sum, 1e-5 * magnitude)
              << spec.name() << " block " << form.block << " output " << o;
        }
    }
  }
}

TEST(Uniform, SameBitsAtEveryLevelForEveryNumberOfRows) {
  for (const UniformSpec& spec : specs(37, {1, 31, 64, 1000, 2100})) {
    const PackedTensor packed = pack_uniform(spec);
    const CodedMatrix w = uniform_matrix(packed);
    for (const BlockForm form : block_forms(spec)) {
      const QuantizedRows x(normals(kRows * spec.cols, "x"), kRows, spec.cols, form);
      const std::vector<float> expected = multiply(w, x.view, Isa::scalar);
      for (const Isa isa : available_isas())
        for (int64_t m = 1; m <= kRows; ++m) {
          QuantizedInput some = x.view;
          some.m = m;
          const std::vector<float> first_rows(expected.begin(), expected.begin() + m * spec.rows);
          ASSERT_TRUE(same_bits(multiply(w, some, isa), first_rows))
              << isa_name(isa) << ' ' << spec.name() << " block " << form.block << " m " << m;
        }
    }
  }
}

TEST(Uniform, LongRowsAndManyRows) {
  // Wider than any buffer of a kernel, and more rows than any of its batches.
  for (const int group : {64, 1024, 0})
    for (const auto& [m, cols] : {std::pair<int64_t, int64_t>{1, 40000}, {9, 3000}, {70, 2100}}) {
      const UniformSpec spec{3, false, group, 21, cols};
      const PackedTensor packed = pack_uniform(spec);
      const CodedMatrix w = uniform_matrix(packed);
      for (const BlockForm form : block_forms(spec)) {
        const QuantizedRows x(normals(m * cols, "x"), m, cols, form);
        const std::vector<float> expected = multiply(w, x.view, Isa::scalar);
        for (const Isa isa : available_isas())
          EXPECT_TRUE(same_bits(multiply(w, x.view, isa), expected))
              << isa_name(isa) << ' ' << spec.name();
      }
    }
}

TEST(Uniform, SameBitsForEverySplitAndRow) {
  const UniformSpec spec{5, false, 128, 100, 1500};
  const PackedTensor packed = pack_uniform(spec);
  const CodedMatrix w = uniform_matrix(packed);
  for (const BlockForm form : block_forms(spec)) {
    const QuantizedRows x(normals(kRows * spec.cols, "x"), kRows, spec.cols, form);
    for (const Isa isa : available_isas()) {
      const std::vector<float> whole = multiply(w, x.view, isa);
      for (const int64_t piece : {1, 2, 3, 5}) {
        std::vector<float> y(whole.size(), NAN);
        for (int64_t begin = 0; begin < 7; begin += piece)
          multiply_into(y, w, x.view, isa, begin, std::min<int64_t>(begin + piece, 7));
        EXPECT_TRUE(same_bits(y, whole)) << isa_name(isa) << " pieces of " << piece;
      }
      for (int64_t r = 0; r < kRows; ++r) {
        const std::vector<float> of_row(whole.begin() + r * spec.rows,
                                        whole.begin() + (r + 1) * spec.rows);
        EXPECT_TRUE(same_bits(multiply(w, x.row(r), isa), of_row)) << isa_name(isa) << " row " << r;
      }
    }
  }
}

TEST(Uniform, WritesItsOutputsOnly) {
  const UniformSpec spec{4, true, 64, 20, 96};
  const PackedTensor packed = pack_uniform(spec);
  const QuantizedRows x(normals(3 * 96, "x"), 3, 96, {64, true});
  for (const Isa isa : available_isas()) {
    constexpr int64_t kStride = 40;
    std::vector<float> y(3 * kStride, -7.0F);
    cpu_kernels(isa).coded(uniform_matrix(packed), x.view, y.data(), kStride, 1, 2);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t o = i % kStride;
      EXPECT_EQ(y[i] == -7.0F, o < 16 || o >= 20) << isa_name(isa) << " at " << i;
    }
  }
}

TEST(Uniform, NothingSaturates) {
  // Codes, inputs and both passes at their largest, once with one sign and once with the other.
  for (int bits = 1; bits <= 8; ++bits)
    for (const int group : {32, 128, 0})
      for (const int sign : {1, -1}) {
        const UniformSpec spec{bits, false, group, 16, 2048};
        const PackedTensor packed = pack_uniform(spec, Fill::largest);
        const CodedMatrix w = uniform_matrix(packed);
        for (const BlockForm form : block_forms(spec)) {
          QuantizedRows x(3, spec.cols, form);
          const int q = 127 * sign, value = form.two_pass ? 254 * q + q : q;
          std::ranges::fill(x.first, static_cast<int8_t>(q));
          std::ranges::fill(x.second, static_cast<int8_t>(q));
          std::ranges::fill(x.scales, 1.0F);
          std::ranges::fill(x.sums, value * form.block);
          for (const Isa isa : available_isas()) {
            const std::vector<float> y = multiply(w, x.view, isa);
            EXPECT_TRUE(same_bits(y, multiply(w, x.view, Isa::scalar)))
                << isa_name(isa) << ' ' << spec.name();
            double sum = 0;
            for (const float weight : packed.unpacked()) sum += static_cast<double>(weight) * value;
            double all = 0;
            for (int o = 0; o < 16; ++o) all += static_cast<double>(y[static_cast<std::size_t>(o)]);
            EXPECT_NEAR(all / sum, 1.0, 1e-5) << isa_name(isa) << ' ' << spec.name();
          }
        }
      }
}

TEST(Uniform, NotANumberShows) {
  const UniformSpec spec{4, false, 64, 16, 256};
  const PackedTensor packed = pack_uniform(spec);
  auto x = normals(2 * 256, "x");
  x[300] = NAN;
  for (const Isa isa : available_isas()) {
    const QuantizedRows rows(x, 2, 256, {64, true}, isa);
    const std::vector<float> y = multiply(uniform_matrix(packed), rows.view, isa);
    for (std::size_t o = 0; o < 16; ++o) {
      EXPECT_TRUE(std::isfinite(y[o])) << isa_name(isa);
      EXPECT_TRUE(std::isnan(y[16 + o])) << isa_name(isa);
    }
  }
}

}  // namespace
}  // namespace cupel::kernels
