// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "kernels/isa.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/cpu.h"

namespace cupel::kernels {
namespace {

class EachIsa : public testing::TestWithParam<Isa> {};

TEST_P(EachIsa, TableIsFilledOrRefused) {
  if (GetParam() > best_isa()) {
    EXPECT_THROW(cpu_kernels(GetParam()), Error);
    GTEST_SKIP() << "this processor lacks " << isa_name(GetParam())
                 << ": its kernels are not tested";
  }
  const CpuKernels& kernels = cpu_kernels(GetParam());
  EXPECT_EQ(kernels.isa, GetParam());
  EXPECT_TRUE(kernels.quantize && kernels.coded && kernels.dense && kernels.rms_norm &&
              kernels.silu_mul && kernels.gelu_tanh_mul && kernels.gelu_mul &&
              kernels.clamped_swiglu && kernels.cap && kernels.sigmoid && kernels.softmax &&
              kernels.rope && kernels.transform && kernels.attention && kernels.to_f16 &&
              kernels.pack_kv);
  EXPECT_EQ(isa_from_name(isa_name(GetParam())), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Isa, EachIsa, testing::Values(Isa::scalar, Isa::avx2, Isa::avx512),
                         [](const auto& suite) { return std::string(isa_name(suite.param)); });

TEST(IsaName, AutoIsTheBestAndUnknownNamesAreTheUsersMistake) {
  EXPECT_EQ(isa_from_name("auto"), best_isa());
  try {
    isa_from_name("neon");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
  }
}

}  // namespace
}  // namespace cupel::kernels
