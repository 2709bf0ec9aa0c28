// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cmath>

#include "quantized_util.h"

namespace cupel::format {
namespace {

using namespace test;

constexpr const char* kBlocks = R"({"quant_method":"fp8","fmt":"e4m3","weight_block_size":[2,3]})";
constexpr const char* kNoBlocks = R"({"quant_method":"fp8","activation_scheme":"static"})";

/// Bytes of `count` numbers, none of them NaN.
std::vector<int> codes(std::size_t count) {
  std::vector<int> out = scrambled(count, 256, 7);
  for (int& c : out)
    if ((c & 127) == 127) c = 0x38;
  return out;
}
/// [5, 7] in blocks of 2 x 3: partial ones at both edges.
std::vector<Entry> block_file() {
  std::vector<float> scales;
  for (int i = 0; i < 9; ++i) scales.push_back(0.1f * static_cast<float>(i + 1));
  return {bytes("a.weight", "F8_E4M3", {5, 7}, codes(35)),
          floats("a.weight_scale_inv", {3, 3}, scales), floats("norm.weight", {2}, {1, 2})};
}

TEST(QuantizedFp8, BlocksWithPartialEdges) {
  const auto r = read_scheme(block_file(), kBlocks);
  ASSERT_EQ(r->tensors.size(), 1u);
  const auto c = codes(35);
  const auto got = r->values("a.weight");
  for (std::size_t i = 0; i < 35; ++i) {
    const std::size_t block = i / 7 / 2 * 3 + i % 7 / 3;
    EXPECT_EQ(got[i], e4m3_value(c[i]) * (0.1f * static_cast<float>(block + 1))) << i;
  }
  EXPECT_EQ(r->at("a.weight").stored_as, "fp8 in blocks of 2 x 3");
  EXPECT_FALSE(r->taken.contains("norm.weight"));
  EXPECT_TRUE(r->noted("stored as fp8 in blocks of 2 x 3 (fp8), read as float32"));
}

TEST(QuantizedFp8, EveryByte) {
  std::vector<int> all(256);
  for (int i = 0; i < 256; ++i) all[static_cast<std::size_t>(i)] = i;
  const auto r = read_scheme(
      {bytes("a.weight", "F8_E4M3", {2, 128}, all), floats("a.weight_scale", {}, {2})}, kNoBlocks);
  const auto got = r->values("a.weight");
  for (int i = 0; i < 256; ++i) {
    const float value = got[static_cast<std::size_t>(i)];
    if ((i & 127) == 127)
      EXPECT_TRUE(std::isnan(value));
    else
      EXPECT_EQ(value, 2 * e4m3_value(i)) << i;
  }
}

TEST(QuantizedFp8, ScalesOfTheTensorAndOfRows) {
  const Entry weight = bytes("a.weight", "F8_E4M3", {2, 3}, codes(6));
  const auto c = codes(6);
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}})
    for (const char* name : {"a.weight_scale", "a.weight_scale_inv"}) {
      const auto r = read_scheme({weight, floats(name, shape, {3})}, kNoBlocks);
      EXPECT_EQ(r->at("a.weight").stored_as, "fp8 with one scale");
      for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(r->values("a.weight")[i], 3 * e4m3_value(c[i]));
    }
  for (const Shape& shape : {Shape{2}, Shape{2, 1}}) {
    const auto r = read_scheme({weight, floats("a.weight_scale", shape, {3, 5})},
                               R"({"quant_method":"fbgemm_fp8"})");
    EXPECT_EQ(r->at("a.weight").stored_as, "fp8 with a scale per row");
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_EQ(r->values("a.weight")[i], (i < 3 ? 3 : 5) * e4m3_value(c[i]));
  }
}

TEST(QuantizedFp8, FusedExperts) {
  const auto c = codes(2 * 3 * 4);
  std::vector<float> scales{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<Entry> file{bytes("x.gate_up_proj", "F8_E4M3", {2, 3, 4}, c),
                                floats("x.gate_up_proj_scale_inv", {2, 2, 2}, scales)};
  const auto r = read_scheme(file, kBlocks);
  const auto got = r->values("x.gate_up_proj");
  for (std::size_t i = 0; i < 24; ++i) {
    const std::size_t e = i / 12, row = i % 12 / 4, col = i % 4;
    EXPECT_EQ(got[i], e4m3_value(c[i]) * scales[e * 4 + row / 2 * 2 + col / 3]) << i;
  }
  const auto one =
      read_scheme(with(file, floats("x.gate_up_proj_scale_inv", {2}, {2, 3})), kBlocks);
  const auto all = read_scheme(with(file, floats("x.gate_up_proj_scale_inv", {1}, {2})), kBlocks);
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(one->values("x.gate_up_proj")[i], e4m3_value(c[i]) * (i < 12 ? 2 : 3));
    EXPECT_EQ(all->values("x.gate_up_proj")[i], e4m3_value(c[i]) * 2);
  }
}

TEST(QuantizedFp8, PiecesThatAreMissingOrDoNotFit) {
  const auto file = block_file();
  expect_refused("'a.weight' has no scales", without(file, "a.weight_scale_inv"), kBlocks);
  expect_refused("has both", with(file, floats("a.weight_scale", {1}, {1})), kBlocks);
  expect_refused("do not cover 'a.weight'",
                 with(file, floats("a.weight_scale_inv", {2, 3}, {1, 2, 3, 4, 5, 6})), kBlocks);
  expect_refused("do not cover 'a.weight'",
                 with(file, floats("a.weight_scale_inv", {9}, std::vector<float>(9))), kBlocks);
  expect_refused("do not cover 'a.weight'", file, kNoBlocks);
  expect_refused("stored as i32",
                 with(file, words("a.weight_scale_inv", {3, 3}, std::vector<uint32_t>(9))),
                 kBlocks);
  expect_refused("axes expected",
                 {bytes("a.weight", "F8_E4M3", {3}, codes(3)), floats("a.weight_scale", {}, {1})},
                 kNoBlocks);
  expect_refused("none of them empty",
                 {bytes("a.weight", "F8_E4M3", {0, 3}, {}), floats("a.weight_scale", {}, {1})},
                 kNoBlocks);
  for (const char* size : {"[0,3]", "[2]", "7", "[-1,3]", "[2.5,3]", "\"a\""})
    expect_refused("weight_block_size", file,
                   std::string(R"({"quant_method":"fp8","weight_block_size":)") + size + "}");
}

TEST(QuantizedInputs, CodesAreNeverReadAsWeights) {
  expect_refused("quantization_config (missing)", block_file(), "");
  for (const char* dtype : {"U8", "I8"})
    expect_refused("does not explain", {bytes("a.weight", dtype, {2, 2}, {1, 2, 3, 4})}, kBlocks);
  expect_refused("does not explain", {words("a.qweight", {1, 2}, {1, 2})}, kNoBlocks);
}

TEST(QuantizedInputs, UnknownSchemes) {
  const std::vector<Entry> file{floats("norm.weight", {2}, {1, 2})};
  expect_refused("'bitsandbytes' is not supported", file, R"({"quant_method":"bitsandbytes"})");
  expect_refused("no quant_method", file, "{}");
  expect_refused("quant_method is 3", file, R"({"quant_method":3})");
  expect_refused("not valid JSON", file, "{");
  expect_refused("not an object", file, "[]");
  const auto r = read_scheme(file, kBlocks);
  EXPECT_TRUE(r->tensors.empty());
  EXPECT_TRUE(r->noted("no weight is stored in this scheme"));
}

TEST(QuantizedInputs, ScalesOfActivationsAndCacheAreNoted) {
  auto file = block_file();
  file.push_back(floats("a.input_scale", {}, {1}));
  file.push_back(floats("b.activation_scale", {1}, {1}));
  file.push_back(floats("self_attn.k_proj.k_scale", {1}, {1}));
  const auto r = read_scheme(file, kBlocks);
  EXPECT_TRUE(
      r->noted("2 scales of activations are not applied to weights, the first is "
               "'a.input_scale'"));
  EXPECT_TRUE(r->noted("1 scales of the KV cache"));
  EXPECT_TRUE(r->taken.contains("self_attn.k_proj.k_scale"));
}

}  // namespace
}  // namespace cupel::format
