// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Quantized models as a whole.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "format/checkpoint.h"
#include "quantized_util.h"

namespace cupel::format {
namespace {

class QuantizedModels : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string archive = test::shared_path("fixtures/tiny-models.tar.xz");
    if (archive.empty()) GTEST_SKIP() << "fixtures/tiny-models.tar.xz is missing";
    const std::string command = "tar xf '" + archive + "' -C '" + folder_.path() + "'";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "tar or xz is missing";
  }
  std::string path(const std::string& model) const { return folder_.file("tiny-models/" + model); }
  test::TempFolder folder_;
};

std::vector<float> read(const Checkpoint& c, const WeightInfo& w) {
  std::size_t count = 1;
  for (const int64_t size : w.shape) count *= static_cast<std::size_t>(size);
  std::vector<float> out(count);
  c.read(w.name, out);
  return out;
}

/// The farthest that rounding to E2M1 moves w, in units of a scale by which |w| is below 8.
float e2m1_error(float units) {
  const float size = std::abs(units);
  if (size > 6) return size - 6;
  return size < 2 ? 0.25f : size < 4 ? 0.5f : 1.0f;
}

TEST_F(QuantizedModels, Mxfp4IsWithinRoundingOfItsFloatModel) {
  const auto coded = Checkpoint::open(path("gpt_oss_mxfp4"));
  const auto plain = Checkpoint::open(path("gpt_oss_bf16"));
  ASSERT_EQ(coded->weights().size(), plain->weights().size());
  int compared = 0;
  for (const WeightInfo& w : plain->weights()) {
    const WeightInfo& other = *coded->find(w.name);
    const auto a = read(*plain, w), b = read(*coded, other);
    if (other.stored_as != "mxfp4") {
      EXPECT_EQ(a, b) << w.name;
      continue;
    }
    ++compared;
    for (std::size_t begin = 0; begin < a.size(); begin += 32) {
      float largest = 0;
      for (std::size_t i = begin; i < begin + 32; ++i) largest = std::max(largest, std::abs(a[i]));
      // The largest of a block lies in [4, 8) units.
      const float unit = std::exp2(std::floor(std::log2(largest)) - 2);
      for (std::size_t i = begin; i < begin + 32; ++i)
        ASSERT_LE(std::abs(a[i] - b[i]), unit * e2m1_error(a[i] / unit)) << w.name << " " << i;
    }
  }
  EXPECT_EQ(compared, 2 * 4 * 3);
}

TEST_F(QuantizedModels, Fp8InBlocks) {
  const auto c = Checkpoint::open(path("deepseek_v3_fp8_block32"));
  const auto container = open_container(path("deepseek_v3_fp8_block32"));
  int compared = 0;
  for (const WeightInfo& w : c->weights()) {
    const TensorEntry* codes = container->find(w.name);
    const TensorEntry* scales = container->find(w.name + "_scale_inv");
    ASSERT_NE(codes, nullptr) << w.name;
    if (!scales) continue;
    ++compared;
    EXPECT_EQ(w.stored_as, "fp8 in blocks of 32 x 32");
    const auto got = read(*c, w);
    const auto cols = static_cast<std::size_t>(w.shape[1]), grid = (cols + 31) / 32;
    for (std::size_t i = 0; i < got.size(); ++i) {
      float scale;
      std::memcpy(&scale, scales->bytes.data() + 4 * (i / cols / 32 * grid + i % cols / 32), 4);
      ASSERT_EQ(got[i], test::e4m3_value(static_cast<int>(codes->bytes[i])) * scale) << w.name;
    }
  }
  EXPECT_EQ(compared, 40);
}

}  // namespace
}  // namespace cupel::format
