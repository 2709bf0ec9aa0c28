// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {
namespace {

constexpr BlockForm kForms[] = {{32, true}, {64, true}, {128, true}, {32, false}, {128, false}};

/// Rows with ordinary, tiny, huge, tied and zero values.
std::vector<float> hard_rows(int64_t m, int64_t k) {
  std::vector<float> x = normals(m * k, "activations");
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % 97 == 3) x[i] *= 1000.0F;
    if (i % 31 == 4) x[i] = 0.0F;
    if (i / 128 % 5 == 2) x[i] *= 1e-33F;
    if (i / 128 % 5 == 3) x[i] *= 1e34F;
    if (i / 128 % 5 == 4)
      x[i] = static_cast<float>(i % 255) - 127.0F + 0.5F * static_cast<float>(i % 2);
  }
  return x;
}

bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void expect_same(const QuantizedRows& a, const QuantizedRows& b, Isa isa) {
  EXPECT_EQ(a.first, b.first) << isa_name(isa);
  EXPECT_EQ(a.second, b.second) << isa_name(isa);
  EXPECT_EQ(a.sums, b.sums) << isa_name(isa);
  for (std::size_t i = 0; i < a.scales.size(); ++i)
    ASSERT_TRUE(same(a.scales[i], b.scales[i])) << isa_name(isa) << " scale " << i;
}

TEST(Quantize, SameBitsAtEveryLevel) {
  for (const int64_t k : {1, 7, 31, 32, 100, 257, 1000})
    for (const BlockForm form : kForms) {
      const auto x = hard_rows(3, k);
      const QuantizedRows scalar(x, 3, k, form);
      for (const Isa isa : available_isas())
        expect_same(scalar, QuantizedRows(x, 3, k, form, isa), isa);
    }
}

TEST(Quantize, ErrorIsHalfAStep) {
  const int64_t k = 1000;
  for (const BlockForm form : kForms) {
    const auto x = hard_rows(2, k);
    const QuantizedRows q(x, 2, k, form);
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t i = 0; i < k; ++i) {
        const double step =
            q.scales[static_cast<std::size_t>(r * q.view.blocks() + i / form.block)];
        const double value = x[static_cast<std::size_t>(r * k + i)];
        ASSERT_NEAR(q.value(r, i), value, 0.505 * step + 1e-30) << i;
      }
  }
}

TEST(Quantize, RangesSumsAndPadding) {
  const int64_t k = 333;
  for (const BlockForm form : kForms) {
    const QuantizedRows q(hard_rows(2, k), 2, k, form);
    for (const int8_t v : q.first) EXPECT_GE(v, -127);
    for (const int8_t v : q.second) EXPECT_GE(v, -127);
    for (int64_t r = 0; r < 2; ++r) {
      std::vector<int32_t> sums(static_cast<std::size_t>(q.view.blocks()));
      for (int64_t i = 0; i < q.view.k_padded; ++i) {
        const auto at = static_cast<std::size_t>(r * q.view.k_padded + i);
        const int value = form.two_pass ? 254 * q.first[at] + q.second[at] : q.first[at];
        if (i >= k) {
          EXPECT_EQ(value, 0);
        }
        sums[static_cast<std::size_t>(i / form.block)] += value;
      }
      for (std::size_t b = 0; b < sums.size(); ++b)
        EXPECT_EQ(sums[b], q.sums[static_cast<std::size_t>(r) * sums.size() + b]);
    }
  }
}

TEST(Quantize, HalfGoesToEven) {
  const std::vector<float> x = {127.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, 126.5F};
  const std::vector<int8_t> expected = {127, 0, 2, 2, 0, -2, -2, 126};
  for (const Isa isa : available_isas()) {
    QuantizedRows q(x, 1, 8, {32, false}, isa);
    q.first.resize(8);
    EXPECT_EQ(q.first, expected) << isa_name(isa);
  }
}

TEST(Quantize, NotFiniteShowsInTheScaleOfItsBlockAlone) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad :
       {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), -std::nanf("")})
    for (const int64_t at : {0, 40, 95, 99})
      for (const BlockForm form : {BlockForm{32, true}, BlockForm{32, false}})
        for (const Isa isa : available_isas()) {
          auto x = normals(100, "finite");
          x[static_cast<std::size_t>(at)] = bad;
          const QuantizedRows q(x, 1, 100, form, isa);
          for (int64_t b = 0; b < 4; ++b)
            EXPECT_EQ(std::isnan(q.scales[static_cast<std::size_t>(b)]), b == at / 32)
                << isa_name(isa);
          EXPECT_EQ(q.first[static_cast<std::size_t>(at)], 0);
        }
}

TEST(Quantize, RowsLieApart) {
  const auto x = normals(3 * 150, "strided");
  const QuantizedRows whole(x, 3, 150, {64, true});
  for (const Isa isa : available_isas()) {
    QuantizedRows part(3, 100, {64, true});
    cpu_kernels(isa).quantize(x.data(), 150, part.view);
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(part.value(r, i), whole.value(r, i));
  }
}

}  // namespace
}  // namespace cupel::kernels
