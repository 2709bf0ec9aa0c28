// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {
namespace {

const std::vector<int64_t> kSizes = {1, 5, 8, 15, 16, 17, 64, 100, 577, 4096};

std::vector<float> rms_norm(const std::vector<float>& x, const std::vector<float>& weight,
                            Isa isa) {
  std::vector<float> out(x.size());
  cpu_kernels(isa).rms_norm(x.data(), weight.data(), 1e-5F, out.data(),
                            static_cast<int64_t>(x.size()));
  return out;
}

TEST(Elementwise, RmsNorm) {
  for (const int64_t n : kSizes) {
    const auto x = normals(n, "x", 3.0), weight = normals(n, "weight");
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * v;
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    const std::vector<float> scalar = rms_norm(x, weight, Isa::scalar);
    for (const Isa isa : available_isas()) {
      EXPECT_EQ(rms_norm(x, weight, isa), scalar) << isa_name(isa) << " n " << n;
      std::vector<float> out(x.size() + 1, -7.0F);
      cpu_kernels(isa).rms_norm(x.data(), weight.data(), 1e-5F, out.data(), n);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = x[i] * inverse * weight[i];
        ASSERT_NEAR(out[i], expected, 3e-7 * std::abs(expected)) << isa_name(isa) << " n " << n;
      }
      EXPECT_EQ(out.back(), -7.0F);
    }
  }
}

TEST(Elementwise, SiluTimesGateOverTheWholeRange) {
  // Magnitudes from 1e-8 to 1e8, both signs.
  const int64_t n = 4001;
  std::vector<float> a(n), b = normals(n, "gate");
  for (int64_t i = 0; i < n; ++i)
    a[static_cast<std::size_t>(i)] =
        static_cast<float>((i % 2 == 0 ? 1 : -1) * std::pow(10.0, -8.0 + i * 16.0 / n));
  std::vector<float> scalar = a;
  cpu_kernels(Isa::scalar).silu_mul(scalar.data(), b.data(), n);
  for (const Isa isa : available_isas()) {
    std::vector<float> out = a;
    cpu_kernels(isa).silu_mul(out.data(), b.data(), n);
    EXPECT_EQ(out, scalar) << isa_name(isa);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double x = a[i], expected = x / (1.0 + std::exp(-x)) * b[i];
      ASSERT_NEAR(out[i], expected, 5e-7 * std::abs(expected) + 1e-36)
          << isa_name(isa) << " at " << x;
    }
  }
}

TEST(Elementwise, SiluShowsNotANumber) {
  for (const Isa isa : available_isas())
    for (const int64_t n : {1, 8, 16, 19}) {
      std::vector<float> a(static_cast<std::size_t>(n), NAN), b(a.size(), 1.0F);
      cpu_kernels(isa).silu_mul(a.data(), b.data(), n);
      for (const float v : a) EXPECT_TRUE(std::isnan(v)) << isa_name(isa);
    }
}

TEST(Elementwise, RopeTurnsPairsBySameBitsAtEveryLevel) {
  for (const int64_t dim : {2, 10, 16, 64, 80, 128}) {
    const int64_t heads = 3, half = dim / 2;
    std::vector<float> cosine(static_cast<std::size_t>(half)), sine(cosine);
    for (int64_t i = 0; i < half; ++i) {
      cosine[static_cast<std::size_t>(i)] = std::cos(0.3F * static_cast<float>(i + 1));
      sine[static_cast<std::size_t>(i)] = std::sin(0.3F * static_cast<float>(i + 1));
    }
    const auto x = normals(heads * dim, "x");
    for (const Isa isa : available_isas()) {
      std::vector<float> out = x;
      cpu_kernels(isa).rope(out.data(), heads, dim, cosine.data(), sine.data());
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < half; ++i) {
          const auto low = static_cast<std::size_t>(h * dim + i),
                     high = low + static_cast<std::size_t>(half);
          const auto at = static_cast<std::size_t>(i);
          ASSERT_EQ(out[low], x[low] * cosine[at] - x[high] * sine[at])
              << isa_name(isa) << " dim " << dim;
          ASSERT_EQ(out[high], x[high] * cosine[at] + x[low] * sine[at])
              << isa_name(isa) << " dim " << dim;
        }
    }
  }
}

TEST(Elementwise, TransformIsTheDefinitionBitForBit) {
  for (const int block : {0, 2, 4, 8, 16, 32, 64, 128, 1024})
    for (const bool with_signs : {false, true})
      for (const bool with_scale : {false, true}) {
        const int64_t n = block == 0 ? 101 : 3 * block;
        format::InputTransform definition{.id = "t", .hadamard = block};
        for (int64_t i = 0; with_signs && i < n; ++i)
          definition.signs.push_back(i * 7 % 3 == 0 ? -1 : 1);
        if (with_scale) definition.scale = normals(n, "scale");
        const auto x = normals(n, "x");
        std::vector<float> expected = x;
        format::apply(definition, expected.data(), 1, n);
        for (const Isa isa : available_isas()) {
          std::vector<float> out = x;
          cpu_kernels(isa).transform(out.data(), n, block,
                                     with_signs ? definition.signs.data() : nullptr,
                                     with_scale ? definition.scale.data() : nullptr);
          EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
              << isa_name(isa) << " block " << block << " signs " << with_signs << " scale "
              << with_scale;
        }
      }
}

TEST(Elementwise, ToF16IsTheDefinition) {
  auto x = normals(1003, "x", 100.0);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> edges = {0.0F,    -0.0F,          65504.0F,      65519.9F, 65520.0F,
                                    -1e9F,   infinity,       -infinity,     6e-8F,    2.9e-8F,
                                    6.1e-5F, 1.00048828125F, 1.00146484375F};
  x.insert(x.end(), edges.begin(), edges.end());
  for (const Isa isa : available_isas()) {
    std::vector<uint16_t> out(x.size());
    cpu_kernels(isa).to_f16(x.data(), out.data(), static_cast<int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(out[i], format::f32_to_f16(x[i])) << isa_name(isa) << ' ' << x[i];
    const float nan = NAN;
    cpu_kernels(isa).to_f16(&nan, out.data(), 1);
    EXPECT_TRUE(std::isnan(format::f16_to_f32(out[0])));
  }
}

}  // namespace
}  // namespace cupel::kernels
