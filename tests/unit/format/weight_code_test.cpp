// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/weight_code.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "format/hadamard.h"

namespace cupel::format {
namespace {

std::vector<float> normals(std::size_t n, const char* name) {
  Rng rng(7, name);
  std::vector<float> out(n);
  for (float& v : out) v = static_cast<float>(rng.normal());
  return out;
}

InputTransform full_transform(int64_t width, int block) {
  InputTransform t{"t", block, normals(static_cast<std::size_t>(width), "scale"), {}};
  Rng rng(7, "signs");
  for (int64_t i = 0; i < width; ++i) t.signs.push_back(rng.below(2) != 0 ? 1 : -1);
  return t;
}

TEST(InputTransform, HadamardIsTheOrthonormalSylvesterMatrix) {
  for (int block = 1; block <= 256; block *= 2) {
    const InputTransform t{"t", block, {}, {}};
    const int64_t width = 2 * block;
    for (int64_t i = 0; i < width; ++i) {
      std::vector<float> x(static_cast<std::size_t>(width), 0.0f);
      x[static_cast<std::size_t>(i)] = 1;
      apply(t, x.data(), 1, width);
      for (int64_t j = 0; j < width; ++j) {
        const unsigned shared = static_cast<unsigned>((i % block) & (j % block));
        const double sign = std::popcount(shared) % 2 == 0 ? 1 : -1;
        const double expected = i / block == j / block ? sign / std::sqrt(block) : 0;
        EXPECT_NEAR(x[static_cast<std::size_t>(j)], expected, 1e-7)
            << block << ' ' << i << ' ' << j;
      }
    }
  }
}

TEST(InputTransform, HadamardIsTheMatrixOfItsOrder) {
  for (const int block : {12, 20, 24, 76, 344}) {
    const auto h = hadamard_matrix(block);
    const InputTransform t{"t", block, {}, {}};
    for (int64_t i = 0; i < 2 * block; ++i) {
      std::vector<float> x(static_cast<std::size_t>(2 * block), 0.0f);
      x[static_cast<std::size_t>(i)] = 1;
      apply(t, x.data(), 1, 2 * block);
      for (int64_t j = 0; j < 2 * block; ++j) {
        const double entry = h[static_cast<std::size_t>(j % block * block + i % block)];
        EXPECT_NEAR(x[static_cast<std::size_t>(j)],
                    i / block == j / block ? entry / std::sqrt(block) : 0, 1e-7)
            << block << ' ' << i << ' ' << j;
      }
    }
  }
}

TEST(InputTransform, HadamardTwiceIsTheIdentity) {
  const InputTransform t{"t", 64, {}, {}};
  const auto x = normals(3 * 192, "x");
  auto y = x;
  apply(t, y.data(), 3, 192);
  apply(t, y.data(), 3, 192);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5);
}

TEST(InputTransform, OrderIsScaleThenSignsThenHadamard) {
  const InputTransform t{"t", 2, {2, 3}, {1, -1}};
  float x[] = {5, 7};
  apply(t, x, 1, 2);
  EXPECT_FLOAT_EQ(x[0], (10.0f - 21.0f) / std::sqrt(2.0f));
  EXPECT_FLOAT_EQ(x[1], (10.0f + 21.0f) / std::sqrt(2.0f));
}

/// W x = W' (T x) for a random stored W', W from undo_on_weight().
void expect_undone(int64_t outputs, int64_t inputs, int block) {
  const InputTransform t = full_transform(inputs, block);
  const auto stored_oi = normals(static_cast<std::size_t>(outputs * inputs), "w"),
             x_i = normals(static_cast<std::size_t>(inputs), "x");
  auto w_oi = stored_oi, tx_i = x_i;
  undo_on_weight(t, w_oi.data(), outputs, inputs);
  apply(t, tx_i.data(), 1, inputs);
  for (int64_t o = 0; o < outputs; ++o) {
    double left = 0, right = 0;
    for (int64_t i = 0; i < inputs; ++i) {
      const auto at = static_cast<std::size_t>(i), of = static_cast<std::size_t>(o * inputs + i);
      left += static_cast<double>(w_oi[of]) * x_i[at];
      right += static_cast<double>(stored_oi[of]) * tx_i[at];
    }
    EXPECT_NEAR(left, right, 1e-4);
  }
}

TEST(InputTransform, UndoOnWeightGivesTheWeightThatActsOnTheInput) {
  // 12, 96 and 28 have factors that are not symmetric, 76 one that is.
  for (const auto& [in, block] : {std::pair{96, 32}, {96, 12}, {96, 96}, {56, 28}, {76, 76}})
    expect_undone(5, in, block);
}

TEST(InputTransform, UndoesInFloat32ToFiveDigits) {
  for (const int64_t in : {96, 344, 896, 4864}) {
    InputTransform t = full_transform(in, static_cast<int>(in));
    t.scale.clear();
    const auto x = normals(static_cast<std::size_t>(in), "x");
    auto y = x;
    apply(t, y.data(), 1, in);
    undo_on_weight(t, y.data(), 1, in);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5) << in;
  }
}

TEST(InputTransform, IdentityChangesNothing) {
  const auto x = normals(7, "x");
  auto y = x;
  apply({}, y.data(), 1, 7);
  undo_on_weight({}, y.data(), 1, 7);
  EXPECT_EQ(x, y);
}

TEST(InputTransform, RefusesWidthsThatDoNotFit) {
  std::vector<float> x(96);
  const auto fault = [&](const InputTransform& t) {
    try {
      apply(t, x.data(), 1, 96);
    } catch (const Error& e) {
      return e.fault();
    }
    return Fault::internal;
  };
  EXPECT_EQ(fault({"t", 64, {}, {}}), Fault::data);
  EXPECT_EQ(fault({"t", 3, {}, {}}), Fault::data);
  EXPECT_EQ(fault({"t", 6, {}, {}}), Fault::data);
  EXPECT_EQ(fault({"t", 20, {}, {}}), Fault::data);
  EXPECT_EQ(fault({"t", -32, {}, {}}), Fault::data);
  EXPECT_EQ(fault({"t", 0, {1, 2}, {}}), Fault::data);
  EXPECT_EQ(fault({"t", 0, {}, {1}}), Fault::data);
}

}  // namespace
}  // namespace cupel::format
