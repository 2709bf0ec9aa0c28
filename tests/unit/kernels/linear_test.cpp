// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "kernels/linear.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {
namespace {

using format::ElementType;

/// Runs a prepared matrix on m rows of x in two calls.
std::vector<float> run(const Linear& linear, const std::vector<float>& x, int64_t m, Isa isa,
                       bool int8_mode = false) {
  const QuantizedRows quantized(x, m, linear.cols,
                                {linear.form.quantized ? linear.form.block : 32, !int8_mode}, isa);
  const LinearInput input{.x = x.data(), .m = m, .ldx = linear.cols, .quantized = &quantized.view};
  std::vector<float> y(static_cast<std::size_t>(m * linear.rows), NAN);
  linear.run(input, y.data(), linear.rows, 0, linear.units / 2);
  linear.run(input, y.data(), linear.rows, linear.units / 2, linear.units);
  return y;
}

void expect_product(const std::vector<float>& y, const std::vector<float>& weights,
                    const std::vector<float>& x, int64_t rows, int64_t cols, double tolerance) {
  const int64_t m = static_cast<int64_t>(x.size()) / cols;
  for (int64_t r = 0; r < m; ++r)
    for (int64_t o = 0; o < rows; ++o) {
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < cols; ++i) {
        const double term = static_cast<double>(weights[static_cast<std::size_t>(o * cols + i)]) *
                            x[static_cast<std::size_t>(r * cols + i)];
        sum += term;
        squares += term * term;
      }
      ASSERT_NEAR(y[static_cast<std::size_t>(r * rows + o)], sum, tolerance * std::sqrt(squares))
          << r << ", " << o;
    }
}

TEST(LinearTable, EveryLayoutFindsItsKernelAndTheRestIsUnpacked) {
  const int64_t rows = 37, cols = 200, m = 3;
  const auto x = normals(m * cols, "x");
  const PackedTensor tensors[] = {
      pack_uniform({4, false, 64, rows, cols}), pack_uniform({3, true, 0, rows, cols}),
      pack_dense(ElementType::f32, rows, cols), pack_dense(ElementType::bf16, rows, cols)};
  for (const PackedTensor& packed : tensors)
    for (const Isa isa : available_isas()) {
      const Linear linear = prepare_linear(packed.tensor, Device::cpu, isa, false);
      EXPECT_EQ(linear.rows, rows);
      EXPECT_EQ(linear.cols, cols);
      EXPECT_EQ(linear.units, 3);
      EXPECT_EQ(linear.form.quantized, packed.tensor.layout->name() == "uniform");
      expect_product(run(linear, x, m, isa), packed.unpacked(), x, rows, cols, 2e-4);

      const LinearKernel& last = linear_kernels().back();
      EXPECT_EQ(last.layout, "*");
      const Linear fallback = last.prepare(packed.tensor, isa, false);
      EXPECT_FALSE(fallback.form.quantized);
      expect_product(run(fallback, x, m, isa), packed.unpacked(), x, rows, cols, 1e-5);
    }
}

TEST(LinearTable, BlocksOfTheActivations) {
  const auto block = [](int group, bool int8_mode) {
    const PackedTensor packed = pack_uniform({4, false, group, 16, 300});
    return prepare_linear(packed.tensor, Device::cpu, Isa::scalar, int8_mode).form;
  };
  for (const int group : {0, 32, 64, 128, 256, 1024}) {
    EXPECT_EQ(block(group, true), (InputForm{true, 32}));
    EXPECT_EQ(block(group, false), (InputForm{true, group == 32 || group == 64 ? group : 128}));
  }
}

TEST(LinearTable, OnePassIsCoarser) {
  const PackedTensor packed = pack_uniform({4, false, 128, 48, 512});
  const auto x = normals(2 * 512, "x");
  for (const Isa isa : available_isas()) {
    const Linear linear = prepare_linear(packed.tensor, Device::cpu, isa, true);
    expect_product(run(linear, x, 2, isa, true), packed.unpacked(), x, 48, 512, 4e-2);
  }
}

TEST(LinearTable, NoCudaKernelsInACpuBuild) {
  const PackedTensor packed = pack_uniform({4, false, 64, 16, 64});
  bool has_cuda = false;
  for (const LinearKernel& kernel : linear_kernels()) has_cuda |= kernel.device == Device::cuda;
  if (has_cuda) GTEST_SKIP() << "this build has CUDA kernels";
  try {
    prepare_linear(packed.tensor, Device::cuda, Isa::scalar, false);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::environment);
  }
}

}  // namespace
}  // namespace cupel::kernels
