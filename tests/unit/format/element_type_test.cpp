// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/element_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "files_util.h"

namespace cupel::format {
namespace {

using test::expect_error;
using test::raw;

std::vector<float> decoded(ElementType type, const std::string& bytes, std::size_t count) {
  std::vector<float> out(count);
  to_float(type, std::as_bytes(std::span(bytes)), out);
  return out;
}

TEST(ElementType, HalfRoundTripsEveryValue) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float wide = f16_to_f32(half);
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide)))) << bits;
    else
      EXPECT_EQ(f32_to_f16(wide), half) << bits;
  }
}

TEST(ElementType, HalfRoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float low = f16_to_f32(static_cast<uint16_t>(bits));
    const float high = bits == 0x7bff ? 65536.0f : f16_to_f32(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact in f32
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    EXPECT_EQ(f32_to_f16(middle), even) << bits;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, low)), bits);
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, high)), bits + 1);
    EXPECT_EQ(f32_to_f16(-middle), even | 0x8000);
  }
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(ElementType, BrainFloatRoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(f32_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);            // tie to even
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-7f + 0x1p-8f), 0x3f82);  // tie to even
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::nanf("1")))));
}

TEST(ElementType, SmallFloats) {
  EXPECT_EQ(decoded(ElementType::f8_e4m3, "\x7e\x38\x01\x80", 4),
            (std::vector<float>{448, 1, 0x1p-9f, -0.0f}));
  EXPECT_TRUE(std::isnan(decoded(ElementType::f8_e4m3, "\x7f", 1)[0]));
  EXPECT_EQ(decoded(ElementType::f8_e5m2, "\x3c\x7b\x01", 3),
            (std::vector<float>{1, 57344, 0x1p-16f}));
  EXPECT_EQ(decoded(ElementType::f8_e4m3fnuz, "\x7f\x40", 2), (std::vector<float>{240, 1}));
  EXPECT_TRUE(std::isnan(decoded(ElementType::f8_e5m2fnuz, "\x80", 1)[0]));
  EXPECT_EQ(decoded(ElementType::f8_e8m0, std::string("\x7f\x00\xfe", 3), 3),
            (std::vector<float>{1, 0x1p-127f, 0x1p127f}));
  EXPECT_EQ(decoded(ElementType::f4, "\x72\xf9", 4), (std::vector<float>{1, 6, -0.5f, -6}));
}

TEST(ElementType, Blocks) {
  std::string nibbles;
  for (int i = 0; i < 16; ++i) nibbles += static_cast<char>(i | (15 - i) << 4);
  const std::string half = raw(f32_to_f16(0.5f)), three = raw(f32_to_f16(3));
  const auto q4_0 = decoded(ElementType::q4_0, half + nibbles, 32);
  const auto q4_1 = decoded(ElementType::q4_1, half + three + nibbles, 32);
  const auto q5_0 = decoded(ElementType::q5_0, half + raw(uint32_t{1u << 31 | 1}) + nibbles, 32);
  for (int i = 0; i < 32; ++i) {
    const int q = i < 16 ? i : 31 - i;
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(q4_0[at], 0.5f * static_cast<float>(q - 8));
    EXPECT_EQ(q4_1[at], 0.5f * static_cast<float>(q) + 3);
    EXPECT_EQ(q5_0[at], 0.5f * static_cast<float>(q - (i == 0 || i == 31 ? 0 : 16)));
  }
}

TEST(ElementType, SuperBlocks) {
  // Q6_K: element i holds code i % 64, packed bit by bit; 16 scales of 1, d = 0.5.
  std::string q6(192, '\0');
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, run = i % 128 / 32, l = i % 32, code = i % 64;
    q6[static_cast<std::size_t>(64 * half + l + run % 2 * 32)] |=
        static_cast<char>((code & 15) << (run / 2 * 4));
    q6[static_cast<std::size_t>(128 + 32 * half + l)] |= static_cast<char>(code >> 4 << 2 * run);
  }
  const auto q6_k =
      decoded(ElementType::q6_k, q6 + std::string(16, '\1') + raw(f32_to_f16(0.5f)), 256);
  for (std::size_t i = 0; i < 256; ++i)
    ASSERT_EQ(q6_k[i], 0.5f * (static_cast<float>(i % 64) - 32)) << i;

  // Q4_K: scale 33 and minimum 17 in sub-block 5 (split over three bytes), all others 0; codes 9.
  std::string scales(12, '\0');
  scales[9] = static_cast<char>((33 & 15) | (17 & 15) << 4);
  scales[1] = static_cast<char>(33 >> 4 << 6);
  scales[5] = static_cast<char>(17 >> 4 << 6);
  const std::string one = raw(f32_to_f16(1)), two = raw(f32_to_f16(2));
  const auto q4_k = decoded(ElementType::q4_k, one + two + scales + std::string(128, '\x99'), 256);
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(q4_k[i], i / 32 == 5 ? 33 * 9 - 2 * 17 : 0) << i;
}

TEST(ElementType, CodeBooks) {
  // Index 0 everywhere is the lowest entry of each book; d = 1, scales and signs of 0.
  const auto first = [](ElementType type) {
    std::string bytes = raw(f32_to_f16(1));
    bytes.resize(static_cast<std::size_t>(traits(type).bytes));
    const auto values = decoded(type, bytes, 256);
    for (const float v : values) EXPECT_EQ(v, values.front());
    return values.front();
  };
  EXPECT_EQ(first(ElementType::iq2_xxs), 8 * 0.125f);
  EXPECT_EQ(first(ElementType::iq2_xs), 8 * 0.125f);
  EXPECT_EQ(first(ElementType::iq2_s), 8 * 0.125f);
  EXPECT_EQ(first(ElementType::iq3_xxs), 4 * 0.25f);
  EXPECT_EQ(first(ElementType::iq3_s), 1);
  EXPECT_EQ(first(ElementType::iq1_s), -1 + 0.125f);
}

TEST(ElementType, WrongSizesAndMissingDecoders) {
  EXPECT_EQ(stored_bytes(ElementType::q4_0, 64), 36u);
  expect_error(Fault::data, "whole blocks", [] { stored_bytes(ElementType::q4_0, 33); });
  expect_error(Fault::data, "", [] { stored_bytes(ElementType::f32, std::size_t{1} << 62); });
  expect_error(Fault::data, "bytes", [] { decoded(ElementType::f32, "123", 1); });
  EXPECT_FALSE(has_decoder(ElementType::c64));
  expect_error(Fault::data, "c64", [] { decoded(ElementType::c64, "12345678", 1); });
}

TEST(ElementType, Names) {
  EXPECT_EQ(type_of_safetensors("BF16"), ElementType::bf16);
  EXPECT_FALSE(type_of_safetensors("bf16"));
  EXPECT_EQ(type_of_gguf(3), ElementType::q4_1);
  EXPECT_FALSE(type_of_gguf(4));
  EXPECT_EQ(traits(ElementType::iq1_m).bytes, 56);
}

TEST(ElementType, BlocksOfTheFixture) {
  const std::string path = test::shared_path("fixtures/formats/gguf_blocks.jsonl");
  if (path.empty()) GTEST_SKIP() << "fixtures/formats/gguf_blocks.jsonl is missing";
  std::ifstream lines(path);
  int checked = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto c = nlohmann::json::parse(line);
    const auto type = type_of_gguf(c["id"].get<uint32_t>());
    ASSERT_TRUE(type) << c["type"];
    EXPECT_EQ(traits(*type).block, c["block_elems"].get<int>());
    EXPECT_EQ(traits(*type).bytes, c["block_bytes"].get<int>());
    const std::string bytes = test::from_base64(c["b64"].get<std::string>());
    const std::string wanted = test::from_base64(c["f32_b64"].get<std::string>());
    const auto got = decoded(*type, bytes, wanted.size() / 4);
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.size()), 0) << c["type"];
    ++checked;
  }
  EXPECT_EQ(checked, 23);
}

}  // namespace
}  // namespace cupel::format
