// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// E2M1 numbers: mxfp4 as gpt-oss has it, nvfp4 and mxfp4 of compressed-tensors, nvfp4 of ModelOpt.
#include <cmath>

#include "quantized_util.h"

namespace cupel::format {
namespace {

using namespace test;

constexpr const char* kGptOss = R"({"quant_method":"mxfp4","modules_to_not_convert":["lm_head"]})";
constexpr const char* kNvfp4 = R"({"quant_method":"compressed-tensors",
  "format":"nvfp4-pack-quantized","config_groups":{"group_0":{"targets":["Linear"],"weights":
  {"num_bits":4,"type":"float","symmetric":true,"strategy":"tensor_group","group_size":16}}}})";
constexpr const char* kModelOpt =
    R"({"quantization":{"quant_algo":"NVFP4","group_size":16,"exclude_modules":["lm_head"]}})";

int nibble(const std::vector<int>& bytes, std::size_t element) {
  return element % 2 ? bytes[element / 2] >> 4 : bytes[element / 2] & 15;
}

/// Two experts of 3 outputs and 64 inputs.
std::vector<Entry> gpt_oss_file() {
  return {bytes("x.down_proj_blocks", "U8", {2, 3, 2, 16}, scrambled(192, 256, 3)),
          bytes("x.down_proj_scales", "U8", {2, 3, 2},
                {127, 0, 1, 120, 130, 252, 126, 128, 125, 100, 2, 200}),
          floats("x.down_proj_bias", {2, 3}, {1, 2, 3, 4, 5, 6})};
}

TEST(QuantizedMxfp4, GptOss) {
  const auto r = read_scheme(gpt_oss_file(), kGptOss);
  const StoredTensor& t = r->at("x.down_proj");
  EXPECT_EQ(t.shape, (Shape{2, 3, 64}));
  EXPECT_TRUE(t.output_major());
  EXPECT_EQ(t.stored_as, "mxfp4");
  EXPECT_FALSE(r->taken.contains("x.down_proj_bias"));
  const auto got = r->values("x.down_proj");
  const auto codes = scrambled(192, 256, 3);
  const std::vector<int> scales{127, 0, 1, 120, 130, 252, 126, 128, 125, 100, 2, 200};
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], std::ldexp(e2m1_value(nibble(codes, i)), scales[i / 32] - 127)) << i;
}

TEST(QuantizedMxfp4, PiecesThatAreMissingOrDoNotFit) {
  const auto file = gpt_oss_file();
  expect_refused("needs 'x.down_proj_scales'", without(file, "x.down_proj_scales"), kGptOss);
  expect_refused("'x.down_proj_scales'", without(file, "x.down_proj_blocks"), kGptOss);
  expect_refused(
      "16] expected",
      with(file, bytes("x.down_proj_blocks", "U8", {2, 3, 4, 8}, scrambled(192, 256, 3))), kGptOss);
  expect_refused("4 axes expected",
                 with(file, bytes("x.down_proj_blocks", "U8", {6, 2, 16}, scrambled(192, 256, 3))),
                 kGptOss);
  expect_refused("[2, 3, 2] expected",
                 with(file, bytes("x.down_proj_scales", "U8", {3, 2, 2}, scrambled(12, 200, 1))),
                 kGptOss);
  expect_refused("is stored as i8",
                 with(file, bytes("x.down_proj_scales", "I8", {2, 3, 2}, scrambled(12, 100, 1))),
                 kGptOss);
  expect_refused("'x.gate_up_proj' has no scales",
                 with(file, bytes("x.gate_up_proj", "F8_E4M3", {1, 1}, {1})), kGptOss);
}

/// The two rows: 16 codes that count up, a quarter of them, twice of them, zeros.
std::vector<int> counted_codes() {
  const std::vector<int> group{0x10, 0x32, 0x54, 0x76, 0x90, 0xba, 0xdc, 0xfe};
  std::vector<int> out;
  for (int i = 0; i < 3; ++i) out.insert(out.end(), group.begin(), group.end());
  out.resize(32);
  return out;
}

TEST(QuantizedNvfp4, CompressedTensorsDivides) {
  const std::vector<Entry> file{
      bytes("a.weight_packed", "U8", {2, 16}, counted_codes()),
      bytes("a.weight_scale", "F8_E4M3", {2, 2}, {0x76, 0x66, 0x7e, 0x20}),
      floats("a.weight_global_scale", {1}, {224}), floats("a.input_global_scale", {1}, {3})};
  const auto r = read_scheme(file, kNvfp4);
  const auto got = r->values("a.weight");
  constexpr float kFactor[] = {1, 0.25f, 2, 0};  // 224 / 224, 56 / 224, 448 / 224
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], e2m1_value(static_cast<int>(i % 16)) * kFactor[i / 16]) << i;
  EXPECT_EQ(r->at("a.weight").stored_as, "nvfp4");
  EXPECT_EQ(r->at("a.weight").entries.size(), 3u);
  EXPECT_TRUE(r->noted("activations"));
  expect_refused("needs 'a.weight_global_scale'", without(file, "a.weight_global_scale"), kNvfp4);
  expect_refused("needs 'a.weight_scale'", without(file, "a.weight_scale"), kNvfp4);
  expect_refused("one number expected", with(file, floats("a.weight_global_scale", {2}, {1, 2})),
                 kNvfp4);
  expect_refused("[2, 2] expected",
                 with(file, bytes("a.weight_scale", "F8_E4M3", {4, 1}, {1, 2, 3, 4})), kNvfp4);
  expect_refused("stored as i8",
                 with(file, bytes("a.weight_packed", "I8", {2, 16}, counted_codes())), kNvfp4);
}

TEST(QuantizedMxfp4, CompressedTensors) {
  const std::vector<Entry> file{
      bytes("a.weight_packed", "U8", {2, 16},
            {0x10, 0x32, 0x54, 0x76, 0x90, 0xba, 0xdc, 0xfe, 0x00, 0x10, 0x21,
             0x32, 0x80, 0x98, 0xa9, 0xba, 0x10, 0x32, 0x54, 0x76, 0x90, 0xba,
             0xdc, 0xfe, 0,    0,    0,    0,    0,    0,    0,    0}),
      bytes("a.weight_scale", "U8", {2, 1}, {0x7f, 0x80})};
  const auto got = read_scheme(file, R"({"quant_method":"compressed-tensors",
      "format":"mxfp4-pack-quantized"})")
                       ->values("a.weight");
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(got[static_cast<std::size_t>(i)], e2m1_value(i));
    EXPECT_EQ(got[static_cast<std::size_t>(32 + i)], 2 * e2m1_value(i));
    EXPECT_EQ(got[static_cast<std::size_t>(48 + i)], 0);
  }
}

/// 3 x 40: the last group of each row is half full.
std::vector<Entry> modelopt_file() {
  std::vector<int> scales = scrambled(9, 120, 5);
  return {bytes("a.weight", "U8", {3, 20}, scrambled(60, 256, 9)),
          bytes("a.weight_scale", "F8_E4M3", {3, 3}, scales),
          floats("a.weight_scale_2", {}, {0.01f}), floats("a.input_scale", {}, {1})};
}

TEST(QuantizedNvfp4, ModelOptMultiplies) {
  const auto codes = scrambled(60, 256, 9), scales = scrambled(9, 120, 5);
  for (const char* config :
       {kModelOpt, R"({"quant_algo":"NVFP4","producer":{"name":"modelopt"}})",
        R"({"quant_method":"modelopt","quant_algo":"W4A16_NVFP4"})",
        R"({"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","quantized_layers":
            {"a":{"quant_algo":"NVFP4","group_size":16},"b":{"quant_algo":"FP8"}}})"}) {
    const auto r = read_scheme(modelopt_file(), config);
    const auto got = r->values("a.weight");
    ASSERT_EQ(got.size(), 120u);
    for (std::size_t i = 0; i < 120; ++i) {
      const float scale = e4m3_value(scales[i / 40 * 3 + i % 40 / 16]) * 0.01f;
      EXPECT_EQ(got[i], e2m1_value(nibble(codes, i)) * scale) << i;
    }
    EXPECT_TRUE(r->noted("'a.input_scale'"));
  }
}

TEST(QuantizedModelOpt, Fp8) {
  const std::vector<Entry> file{bytes("a.weight", "F8_E4M3", {2, 2}, {0x38, 0x40, 0xb8, 0x30}),
                                floats("a.weight_scale", {}, {0.5f}),
                                floats("k_proj.k_scale", {}, {1})};
  const char* config = R"({"quantization":{"quant_algo":"FP8","kv_cache_quant_algo":"FP8"}})";
  const auto r = read_scheme(file, config);
  EXPECT_EQ(r->values("a.weight"), (std::vector<float>{0.5f, 1, -0.5f, 0.25f}));
  EXPECT_TRUE(r->noted("KV cache"));
  expect_refused("'a.weight' has no scales", without(file, "a.weight_scale"), config);
  // Blocks with an axis of one behind each.
  const auto blocks =
      read_scheme({bytes("a.weight", "F8_E4M3", {129, 1}, std::vector<int>(129, 0x38)),
                   floats("a.weight_scale", {2, 1, 1, 1}, {2, 3})},
                  R"({"quantization":{"quant_algo":"FP8_PB_WO"}})");
  EXPECT_EQ(blocks->values("a.weight")[127], 2);
  EXPECT_EQ(blocks->values("a.weight")[128], 3);
}

TEST(QuantizedModelOpt, WhatIsRefused) {
  const auto file = modelopt_file();
  expect_refused("'INT4_AWQ' is not supported", file,
                 R"({"quantization":{"quant_algo":"INT4_AWQ"}})");
  expect_refused("group_size 32", file,
                 R"({"quantization":{"quant_algo":"NVFP4","group_size":32}})");
  expect_refused("'INT8' is not supported", file, R"({"quant_method":"modelopt",
      "quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"INT8"}}})");
  expect_refused("needs 'a.weight_scale_2'", without(file, "a.weight_scale_2"), kModelOpt);
  expect_refused("needs 'a.weight_scale'", without(file, "a.weight_scale"), kModelOpt);
  expect_refused("'a.pre_quant_scale'",
                 with(file, floats("a.pre_quant_scale", {40}, std::vector<float>(40))), kModelOpt);
  expect_refused("[3, 3] expected",
                 with(file, bytes("a.weight_scale", "F8_E4M3", {3, 2}, scrambled(6, 100, 1))),
                 kModelOpt);
  // Only the KV cache is quantized: codes have no meaning.
  const char* cache = R"({"quantization":{"quant_algo":null,"kv_cache_quant_algo":"FP8"}})";
  expect_refused("does not explain", file, cache);
  EXPECT_TRUE(read_scheme({floats("norm.weight", {1}, {1})}, cache)->tensors.empty());
}

}  // namespace
}  // namespace cupel::format
