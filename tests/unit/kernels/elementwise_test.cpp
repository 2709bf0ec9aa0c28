// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <algorithm>
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

/// Magnitudes from 1e-8 to 1e8, both signs.
std::vector<float> all_magnitudes(int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    x[static_cast<std::size_t>(i)] = static_cast<float>(
        (i % 2 == 0 ? 1 : -1) *
        std::pow(10.0, -8.0 + static_cast<double>(i) * 16.0 / static_cast<double>(n)));
  return x;
}

struct Gated {
  const char* name;
  void (*run)(const CpuKernels& cpu, float* a, const float* b, int64_t n);
  double (*definition)(double a, double b);
  double tolerance;  ///< relative
};

const std::vector<Gated>& gated() {
  static const std::vector<Gated> all = {
      {"silu",
       [](const CpuKernels& cpu, float* a, const float* b, int64_t n) { cpu.silu_mul(a, b, n); },
       [](double a, double b) { return a / (1 + std::exp(-a)) * b; }, 5e-7},
      // The tails: the exponent's rounding, and in float32 its square's.
      {"gelu by tanh",
       [](const CpuKernels& cpu, float* a, const float* b, int64_t n) {
         cpu.gelu_tanh_mul(a, b, n);
       },
       [](double a, double b) {
         const double u = 2 * std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a);
         return a / (1 + std::exp(-u)) * b;
       },
       2e-5},
      {"gelu",
       [](const CpuKernels& cpu, float* a, const float* b, int64_t n) { cpu.gelu_mul(a, b, n); },
       [](double a, double b) { return a * 0.5 * std::erfc(-a / std::sqrt(2.0)) * b; }, 1e-5},
      {"clamped swiglu",
       [](const CpuKernels& cpu, float* a, const float* b, int64_t n) {
         cpu.clamped_swiglu(a, b, n, 1.702F, 0.9F);
       },
       [](double a, double b) {
         a = std::min(a, double{0.9F});
         b = std::clamp(b, -double{0.9F}, double{0.9F});
         return (b + 1) * a / (1 + std::exp(-double{1.702F} * a));
       },
       2e-5},
  };
  return all;
}

TEST(Elementwise, GatedActivationsOverTheWholeRange) {
  const int64_t n = 4001;
  const auto a = all_magnitudes(n), b = normals(n, "gate");
  for (const Gated& function : gated()) {
    std::vector<float> scalar = a;
    function.run(cpu_kernels(Isa::scalar), scalar.data(), b.data(), n);
    for (const Isa isa : available_isas()) {
      std::vector<float> out = a;
      function.run(cpu_kernels(isa), out.data(), b.data(), n);
      EXPECT_EQ(out, scalar) << function.name << ' ' << isa_name(isa);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double expected = function.definition(a[i], b[i]);
        ASSERT_NEAR(out[i], expected, function.tolerance * std::abs(expected) + 1e-36)
            << function.name << ' ' << isa_name(isa) << " at " << a[i];
      }
    }
  }
}

TEST(Elementwise, GatedActivationsLeaveTheNextNumberAlone) {
  for (const Gated& function : gated())
    for (const Isa isa : available_isas())
      for (const int64_t n : kSizes) {
        auto a = normals(n + 1, "a"), b = normals(n + 1, "b");
        const auto all = a;
        function.run(cpu_kernels(isa), a.data(), b.data(), n);
        EXPECT_EQ(a.back(), all.back());
        std::vector<float> scalar = all;
        function.run(cpu_kernels(Isa::scalar), scalar.data(), b.data(), n);
        EXPECT_EQ(a, scalar) << function.name << ' ' << isa_name(isa) << " n " << n;
      }
}

TEST(Elementwise, CapIsATangentHyperbolic) {
  const int64_t n = 4001;
  const auto x = all_magnitudes(n);
  for (const float cap : {30.0F, 0.7F}) {
    std::vector<float> scalar = x;
    cpu_kernels(Isa::scalar).cap(scalar.data(), n, cap);
    for (const Isa isa : available_isas()) {
      std::vector<float> out = x;
      cpu_kernels(isa).cap(out.data(), n, cap);
      EXPECT_EQ(out, scalar) << isa_name(isa);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = cap * std::tanh(double{x[i]} / cap);
        ASSERT_NEAR(out[i], expected, 4e-7 * std::abs(expected)) << isa_name(isa) << ' ' << x[i];
      }
    }
  }
}

TEST(Elementwise, SigmoidAndSoftmax) {
  for (const int64_t n : kSizes) {
    const auto x = normals(n, "x", 8.0);
    const float highest = *std::max_element(x.begin(), x.end());
    double total = 0;
    for (const float v : x) total += std::exp(double{v} - highest);
    std::vector<float> scalar_sigmoid = x, scalar_softmax = x;
    cpu_kernels(Isa::scalar).sigmoid(scalar_sigmoid.data(), n);
    cpu_kernels(Isa::scalar).softmax(scalar_softmax.data(), n);
    for (const Isa isa : available_isas()) {
      std::vector<float> sigmoid = x, softmax = x;
      cpu_kernels(isa).sigmoid(sigmoid.data(), n);
      cpu_kernels(isa).softmax(softmax.data(), n);
      EXPECT_EQ(sigmoid, scalar_sigmoid) << isa_name(isa) << " n " << n;
      EXPECT_EQ(softmax, scalar_softmax) << isa_name(isa) << " n " << n;
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_NEAR(sigmoid[i], 1 / (1 + std::exp(-double{x[i]})), 3e-7);
        ASSERT_NEAR(softmax[i], std::exp(double{x[i]} - highest) / total, 3e-7);
      }
    }
  }
}

TEST(Elementwise, NotANumberShows) {
  for (const Isa isa : available_isas())
    for (const int64_t n : {1, 8, 16, 19}) {
      const std::vector<float> nan(static_cast<std::size_t>(n), NAN), one(nan.size(), 1.0F);
      for (const Gated& function : gated()) {
        std::vector<float> a = nan;
        function.run(cpu_kernels(isa), a.data(), one.data(), n);
        for (const float v : a) EXPECT_TRUE(std::isnan(v)) << function.name << isa_name(isa);
      }
      std::vector<float> a = nan;
      cpu_kernels(isa).cap(a.data(), n, 30.0F);
      for (const float v : a) EXPECT_TRUE(std::isnan(v)) << isa_name(isa);
    }
}

TEST(Elementwise, RopeTurnsPairsBySameBitsAtEveryLevel) {
  for (const int64_t dims : {2, 10, 16, 64, 80, 128})
    for (const bool interleaved : {false, true}) {
      const int64_t heads = 3, half = dims / 2, stride = dims + 6;
      std::vector<float> cosine(static_cast<std::size_t>(half)), sine(cosine);
      for (int64_t i = 0; i < half; ++i) {
        cosine[static_cast<std::size_t>(i)] = std::cos(0.3F * static_cast<float>(i + 1));
        sine[static_cast<std::size_t>(i)] = std::sin(0.3F * static_cast<float>(i + 1));
      }
      const auto x = normals(heads * stride, "x");
      for (const Isa isa : available_isas()) {
        std::vector<float> out = x, expected = x;
        cpu_kernels(isa).rope(out.data(), heads, stride,
                              {cosine.data(), sine.data(), dims, interleaved});
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t i = 0; i < half; ++i) {
            const auto low = static_cast<std::size_t>(h * stride + (interleaved ? 2 * i : i));
            const auto high = low + static_cast<std::size_t>(interleaved ? 1 : half);
            const auto at = static_cast<std::size_t>(i);
            expected[low] = x[low] * cosine[at] - x[high] * sine[at];
            expected[high] = x[high] * cosine[at] + x[low] * sine[at];
          }
        EXPECT_EQ(out, expected) << isa_name(isa) << " dims " << dims << ' ' << interleaved;
      }
    }
}

TEST(Elementwise, TransformIsTheDefinitionBitForBit) {
  for (const int block :
       {0, 2, 4, 8, 12, 16, 20, 24, 32, 44, 64, 76, 96, 128, 344, 576, 896, 924, 1024, 4864, 1848})
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
          cpu_kernels(isa).transform(out.data(), n, row_transform(definition));
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
