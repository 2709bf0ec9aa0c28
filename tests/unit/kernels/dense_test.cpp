// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {
namespace {

using format::ElementType;

constexpr int64_t kRows = 14;  // of x: whole tiles of every level and some over

DenseMatrix matrix(const PackedTensor& packed, ElementType type) {
  return {type, packed.tensor.rows, packed.tensor.cols,
          packed.tensor.planes.at("values").bytes.data()};
}

std::vector<float> multiply(const DenseMatrix& w, const float* x, int64_t m, Isa isa) {
  std::vector<float> y(static_cast<std::size_t>(m * w.rows), NAN);
  cpu_kernels(isa).dense(w, x, w.cols, m, y.data(), w.rows, 0, w.rows);
  return y;
}

TEST(Dense, AgreesWithTheSumInDouble) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16})
    for (const int64_t cols : {1, 7, 16, 33, 576, 1000}) {
      const PackedTensor packed = pack_dense(type, 11, cols);
      const auto weights = packed.unpacked(), x = normals(kRows * cols, "x");
      for (const Isa isa : available_isas()) {
        const auto y = multiply(matrix(packed, type), x.data(), kRows, isa);
        EXPECT_EQ(y, multiply(matrix(packed, type), x.data(), kRows, Isa::scalar))
            << isa_name(isa) << ' ' << cols;
        for (int64_t r = 0; r < kRows; ++r)
          for (int64_t o = 0; o < 11; ++o) {
            double sum = 0, magnitude = 0;
            for (int64_t i = 0; i < cols; ++i) {
              const double term =
                  static_cast<double>(weights[static_cast<std::size_t>(o * cols + i)]) *
                  x[static_cast<std::size_t>(r * cols + i)];
              sum += term;
              magnitude += std::abs(term);
            }
            ASSERT_NEAR(y[static_cast<std::size_t>(r * 11 + o)], sum, 2e-6 * magnitude)
                << isa_name(isa) << ' ' << cols;
          }
      }
    }
}

TEST(Dense, SameBitsForEveryNumberOfRowsAndSplit) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    const int64_t rows = 23, cols = 500;
    const PackedTensor packed = pack_dense(type, rows, cols);
    const auto x = normals(kRows * cols, "x");
    const DenseMatrix w = matrix(packed, type);
    for (const Isa isa : available_isas()) {
      const auto whole = multiply(w, x.data(), kRows, isa);
      for (int64_t r = 0; r < kRows; ++r) {
        const std::vector<float> of_row(whole.begin() + r * rows, whole.begin() + (r + 1) * rows);
        EXPECT_EQ(multiply(w, x.data() + r * cols, 1, isa), of_row) << isa_name(isa);
      }
      for (const int64_t piece : {1, 3, 5, 16}) {
        std::vector<float> y(whole.size(), NAN);
        for (int64_t begin = 0; begin < rows; begin += piece)
          cpu_kernels(isa).dense(w, x.data(), cols, kRows, y.data(), rows, begin,
                                 std::min(begin + piece, rows));
        EXPECT_EQ(y, whole) << isa_name(isa) << " pieces of " << piece;
      }
    }
  }
}

}  // namespace
}  // namespace cupel::kernels
