// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Integers: compressed-tensors (packed and bytes), GPTQ, AWQ.
#include "quantized_util.h"

namespace cupel::format {
namespace {

using namespace test;
using Floats = std::vector<float>;

std::string compressed(const std::string& weights, const std::string& format = "pack-quantized") {
  return R"({"quant_method":"compressed-tensors","format":")" + format +
         R"(","config_groups":{"group_0":{"targets":["Linear"],"weights":)" + weights + "}}}";
}
const std::string kInt4 =
    compressed(R"({"num_bits":4,"type":"int","symmetric":true,"strategy":"group","group_size":4})");

std::vector<uint32_t>& append(std::vector<uint32_t>& to, const std::vector<uint32_t>& more) {
  to.insert(to.end(), more.begin(), more.end());
  return to;
}

TEST(QuantizedCompressed, SymmetricGroups) {
  const std::vector<Entry> file{words("a.weight_packed", {2, 1}, {0xfea98710, 0xf8794c1f}),
                                floats("a.weight_scale", {2, 2}, {0.5f, 0.25f, 2, 3}),
                                longs("a.weight_shape", {2}, {2, 8})};
  const auto r = read_scheme(file, kInt4);
  EXPECT_EQ(r->values("a.weight"), (Floats{-4, -3.5f, -0.5f, 0, 0.25f, 0.5f, 1.5f, 1.75f,  //
                                           14, -14, 8, -8, 3, -3, 0, 21}));
  EXPECT_EQ(r->at("a.weight").stored_as, "int4 in groups of 4");
  EXPECT_EQ(r->taken.size(), 3u);
  const auto row = read_scheme(with(file, floats("a.weight_scale", {2, 1}, {1, 10})), kInt4);
  EXPECT_EQ(row->values("a.weight")[7], 7);
  EXPECT_EQ(row->values("a.weight")[8], 70);
  EXPECT_EQ(row->at("a.weight").stored_as, "int4 with a scale per row");
  const auto one = read_scheme(with(file, floats("a.weight_scale", {1}, {10})), kInt4);
  EXPECT_EQ(one->values("a.weight")[15], 70);
}

/// W[o][i] = (i - 4) / 2 wherever the zero point leaves room for it.
TEST(QuantizedCompressed, ZeroPointsRunAlongOutputs) {
  std::vector<uint32_t> packed(16);
  packed[0] = 0xffff0000;
  packed[4] = 0xedcb3210;
  packed[8] = 0xa9877654;
  packed[15] = 0x3210edcb;
  const std::vector<Entry> file{
      words("a.weight_packed", {16, 1}, packed), floats("a.weight_scale", {16, 2}, Floats(32, 0.5)),
      words("a.weight_zero_point", {2, 2}, {0x76543210, 0x89abcdef, 0xfedcba98, 0x01234567}),
      longs("a.weight_shape", {2}, {16, 8})};
  const auto r = read_scheme(file, kInt4);
  const auto got = r->values("a.weight");
  for (std::size_t i = 0; i < 8; ++i) {
    const float wanted = (static_cast<float>(i) - 4) / 2;
    EXPECT_EQ(got[8 * 8 + i], wanted) << i;
    EXPECT_EQ(got[i], i < 4 ? 0 : 0);  // clamped at the zero point
  }
  EXPECT_EQ(r->at("a.weight").stored_as, "int4 in groups of 4 with zero points");
  expect_refused("[2, 2] expected", with(file, words("a.weight_zero_point", {1, 2}, {1, 2})),
                 kInt4);
  expect_refused("[2, 2] expected",
                 with(file, words("a.weight_zero_point", {16, 2}, std::vector<uint32_t>(32))),
                 kInt4);
}

/// Odd sizes, every width, dense fields, zero points; the last group is cut off.
TEST(QuantizedCompressed, EveryWidth) {
  constexpr std::size_t kOutputs = 5, kInputs = 37, kGroup = 8, kGroups = 5;
  for (int bits = 2; bits <= 8; ++bits)
    for (const bool order : {false, true}) {
      const auto codes = scrambled(kOutputs * kInputs, 1 << bits, 11);
      const auto zeros = scrambled(kGroups * kOutputs, 1 << bits, 12);  // [group, output]
      const auto index = scrambled(kInputs, kGroups, 13);
      Floats scales;
      for (std::size_t i = 0; i < kOutputs * kGroups; ++i)
        scales.push_back(0.3f + static_cast<float>(i));
      std::vector<uint32_t> packed, packed_zeros;
      for (std::size_t o = 0; o < kOutputs; ++o)
        append(packed, bit_stream({codes.begin() + static_cast<long>(o * kInputs),
                                   codes.begin() + static_cast<long>((o + 1) * kInputs)},
                                  bits));
      const auto words_in = static_cast<int64_t>(packed.size() / kOutputs);
      const auto zero_words = (static_cast<int64_t>(kOutputs) * bits + 31) / 32;
      packed_zeros.resize(static_cast<std::size_t>(zero_words) * kGroups);
      for (std::size_t g = 0; g < kGroups; ++g) {
        const auto lane = bit_stream({zeros.begin() + static_cast<long>(g * kOutputs),
                                      zeros.begin() + static_cast<long>((g + 1) * kOutputs)},
                                     bits);
        for (std::size_t w = 0; w < lane.size(); ++w) packed_zeros[w * kGroups + g] = lane[w];
      }
      std::vector<Entry> file{words("a.weight_packed", {kOutputs, words_in}, packed),
                              floats("a.weight_scale", {kOutputs, kGroups}, scales),
                              words("a.weight_zero_point", {zero_words, kGroups}, packed_zeros),
                              longs("a.weight_shape", {2}, {kOutputs, kInputs})};
      if (order) file.push_back(words("a.weight_g_idx", {kInputs}, {index.begin(), index.end()}));
      const auto r =
          read_scheme(file, compressed("{\"num_bits\":" + std::to_string(bits) + R"(,"type":"int",
                           "symmetric":false,"strategy":"group","group_size":8})"));
      const auto got = r->values("a.weight");
      for (std::size_t o = 0; o < kOutputs; ++o)
        for (std::size_t i = 0; i < kInputs; ++i) {
          const std::size_t g = order ? static_cast<std::size_t>(index[i]) : i / kGroup;
          const int code = codes[o * kInputs + i], zero = zeros[g * kOutputs + o];
          ASSERT_EQ(got[o * kInputs + i], static_cast<float>(code - zero) * scales[o * kGroups + g])
              << bits << " " << o << " " << i;
        }
    }
}

TEST(QuantizedCompressed, FieldsThatDoNotCrossWords) {
  const std::string config =
      compressed(R"({"num_bits":3,"type":"int","strategy":"channel","symmetric":true})");
  // 12 values: dense in 36 bits, padded as ten and two.
  const Entry scale = floats("a.weight_scale", {1, 1}, {1}),
              shape = longs("a.weight_shape", {2}, {1, 12});
  const Floats wanted{-4, -3, -2, -1, 0, 1, 2, 3, -4, -3, -2, -1};
  const auto dense = read_scheme(
      {words("a.weight_packed", {1, 2}, {0x88fac688, 0x00000006}), scale, shape}, config);
  EXPECT_EQ(dense->values("a.weight"), wanted);
  // 22 values: dense in three words, padded in three as well; 32: in three, and in four.
  std::vector<int> codes;
  for (int i = 0; i < 32; ++i) codes.push_back(i * 5 % 8);
  std::vector<uint32_t> padded(4);
  for (std::size_t i = 0; i < 32; ++i)
    padded[i / 10] |= static_cast<uint32_t>(codes[i]) << 3 * (i % 10);
  const Entry long_shape = longs("a.weight_shape", {2}, {1, 32});
  const auto old =
      read_scheme({words("a.weight_packed", {1, 4}, padded), scale, long_shape}, config);
  const auto now = read_scheme(
      {words("a.weight_packed", {1, 3}, bit_stream(codes, 3)), scale, long_shape}, config);
  EXPECT_EQ(old->values("a.weight"), now->values("a.weight"));
  EXPECT_EQ(now->values("a.weight")[1], 1);
}

TEST(QuantizedCompressed, Int8Words) {
  const auto r =
      read_scheme({words("a.weight_packed", {1, 1}, {0xff807f00}),
                   floats("a.weight_scale", {1, 1}, {1}), longs("a.weight_shape", {2}, {1, 4})},
                  compressed(R"({"num_bits":8,"type":"int","strategy":"channel"})"));
  EXPECT_EQ(r->values("a.weight"), (Floats{-128, -1, 0, 127}));
}

TEST(QuantizedCompressed, Bytes) {
  const std::string config =
      compressed(R"({"num_bits":8,"type":"int","strategy":"channel"})", "int-quantized");
  const std::vector<Entry> file{bytes("a.weight", "I8", {2, 3}, {127, -128, 0, 1, 2, -3}),
                                floats("a.weight_scale", {2, 1}, {0.5f, 2})};
  EXPECT_EQ(read_scheme(file, config)->values("a.weight"), (Floats{63.5f, -64, 0, 2, 4, -6}));
  const auto asymmetric =
      read_scheme(with(file, bytes("a.weight_zero_point", "I8", {2, 1}, {-1, 2})), config);
  EXPECT_EQ(asymmetric->values("a.weight"), (Floats{64, -63.5f, 0.5f, -2, 0, -10}));
  expect_refused("does not explain", without(file, "a.weight_scale"), config);
  expect_refused("[2, 1] expected", with(file, bytes("a.weight_zero_point", "I8", {2}, {1, 2})),
                 config);
}

TEST(QuantizedCompressed, Fp8) {
  const std::string config =
      compressed(R"({"num_bits":8,"type":"float","strategy":"block","block_structure":[2,2]})",
                 "float-quantized");
  const Entry weight =
      bytes("a.weight", "F8_E4M3", {3, 3}, {0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38});
  EXPECT_EQ(read_scheme({weight, floats("a.weight_scale", {2, 2}, {1, 2, 3, 4})}, config)
                ->values("a.weight"),
            (Floats{1, 1, 2, 1, 1, 2, 3, 3, 4}));
  EXPECT_EQ(read_scheme({weight, floats("a.weight_scale", {3, 1}, {1, 2, 3})}, config)
                ->values("a.weight"),
            (Floats{1, 1, 1, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(read_scheme({weight, floats("a.weight_scale", {1}, {7})}, config)->values("a.weight"),
            Floats(9, 7));
  expect_refused("'a.weight' has no scales", {weight}, config);
}

TEST(QuantizedCompressed, Mxfp8) {
  const auto r = read_scheme(
      {bytes("a.weight", "F8_E4M3", {1, 33}, std::vector<int>(33, 0x38)),
       bytes("a.weight_scale", "U8", {1, 2}, {128, 125})},
      compressed(R"({"num_bits":8,"type":"float","group_size":32})", "mxfp8-quantized"));
  EXPECT_EQ(r->values("a.weight")[31], 2);
  EXPECT_EQ(r->values("a.weight")[32], 0.25f);
}

TEST(QuantizedCompressed, WhatIsRefused) {
  const std::vector<Entry> file{words("a.weight_packed", {2, 1}, {1, 2}),
                                floats("a.weight_scale", {2, 2}, {1, 2, 3, 4}),
                                longs("a.weight_shape", {2}, {2, 8})};
  for (const char* piece : {"a.weight_scale", "a.weight_shape"})
    expect_refused(std::string("needs '") + piece, without(file, piece), kInt4);
  expect_refused("widths of config_groups", with(file, longs("a.weight_shape", {2}, {2, 9})),
                 kInt4);
  expect_refused("[3, 1] expected", with(file, longs("a.weight_shape", {2}, {3, 8})), kInt4);
  expect_refused("shape of a matrix", with(file, longs("a.weight_shape", {2}, {2, -8})), kInt4);
  expect_refused("shape of a matrix", with(file, longs("a.weight_shape", {2}, {2, INT64_MAX})),
                 kInt4);
  expect_refused("[2] expected", with(file, longs("a.weight_shape", {3}, {2, 8, 1})), kInt4);
  expect_refused("has 4 groups for 8 inputs",
                 with(file, floats("a.weight_scale", {2, 4}, Floats(8))), kInt4);
  expect_refused("[2, 3] expected", with(file, floats("a.weight_scale", {3, 3}, Floats(9))), kInt4);
  expect_refused("2 axes", with(file, words("a.weight_packed", {2}, {1, 2})), kInt4);
  expect_refused("into group 2 of 2",
                 with(file, words("a.weight_g_idx", {8}, {0, 0, 0, 1, 1, 1, 1, 2})), kInt4);
  expect_refused("into group -1",
                 with(file, words("a.weight_g_idx", {8}, {0, 0, 0, 1, 1, 1, 1, ~0u})), kInt4);
  expect_refused("[8] expected", with(file, words("a.weight_g_idx", {2}, {0, 1})), kInt4);
  // Without an order -1 is everywhere.
  const auto plain = read_scheme(file, kInt4)->values("a.weight");
  EXPECT_EQ(
      read_scheme(with(file, words("a.weight_g_idx", {8}, std::vector<uint32_t>(8, ~0u))), kInt4)
          ->values("a.weight"),
      plain);
  expect_refused("'marlin-24' is not supported", file, compressed("null", "marlin-24"));
  expect_refused("transform_config", file, R"({"quant_method":"compressed-tensors",
      "transform_config":{"config_groups":{}}})");
  expect_refused("'sparse-24-bitmask'", file, R"({"quant_method":"compressed-tensors",
      "sparsity_config":{"format":"sparse-24-bitmask"}})");
  expect_refused("num_bits is 9", file, compressed(R"({"num_bits":9,"type":"int"})"));
  expect_refused("block_structure", file, compressed(R"({"block_structure":"128by128"})"));
  expect_refused("while reading config_groups 'group_0'", file, compressed(R"({"type":"nf4"})"));
}

/// Two groups of widths in one file: the words tell which one a matrix has.
TEST(QuantizedCompressed, SeveralWidths) {
  const std::string config = R"({"quant_method":"compressed-tensors","format":"mixed-precision",
    "config_groups":{
    "group_0":{"format":"pack-quantized","weights":{"num_bits":4,"type":"int","group_size":4}},
    "group_1":{"format":"pack-quantized","weights":{"num_bits":8,"type":"int"}}}})";
  const auto r =
      read_scheme({words("a.weight_packed", {1, 1}, {0xfea98710}),
                   floats("a.weight_scale", {1, 2}, {1, 1}), longs("a.weight_shape", {2}, {1, 8}),
                   words("b.weight_packed", {1, 2}, {0xff807f00, 0x80808081}),
                   floats("b.weight_scale", {1, 1}, {1}), longs("b.weight_shape", {2}, {1, 8})},
                  config);
  EXPECT_EQ(r->values("a.weight"), (Floats{-8, -7, -1, 0, 1, 2, 6, 7}));
  EXPECT_EQ(r->values("b.weight"), (Floats{-128, -1, 0, 127, 1, 0, 0, 0}));
}

// GPTQ.

struct Gptq {
  std::size_t outputs = 32, inputs = 64, groups = 4;
  int bits = 4;
  bool v2 = false, order = false;
  std::vector<int> codes, zeros, index;  ///< [output, input], [group, output], [input]

  void fill() {
    codes = scrambled(outputs * inputs, 1 << bits, 21);
    zeros = scrambled(groups * outputs, 1 << bits, 22);
    index = scrambled(inputs, static_cast<int>(groups), 23);
    if (!order)
      for (std::size_t i = 0; i < inputs; ++i) index[i] = static_cast<int>(i * groups / inputs);
  }
  float scale(std::size_t group, std::size_t output) const {
    return 0.1f + static_cast<float>(group * outputs + output);
  }
  std::vector<Entry> file() const {
    const auto lane_words = inputs * static_cast<std::size_t>(bits) / 32;
    std::vector<uint32_t> packed(lane_words * outputs), packed_zeros;
    for (std::size_t o = 0; o < outputs; ++o) {
      const auto lane = bit_stream({codes.begin() + static_cast<long>(o * inputs),
                                    codes.begin() + static_cast<long>((o + 1) * inputs)},
                                   bits);
      for (std::size_t w = 0; w < lane.size(); ++w) packed[w * outputs + o] = lane[w];
    }
    Floats scales;
    for (std::size_t g = 0; g < groups; ++g) {
      std::vector<int> stored(zeros.begin() + static_cast<long>(g * outputs),
                              zeros.begin() + static_cast<long>((g + 1) * outputs));
      for (int& z : stored) z = v2 ? z : (z - 1) & ((1 << bits) - 1);
      append(packed_zeros, bit_stream(stored, bits));
      for (std::size_t o = 0; o < outputs; ++o) scales.push_back(scale(g, o));
    }
    const auto zero_words = static_cast<int64_t>(packed_zeros.size() / groups);
    return {
        words("a.qweight", {static_cast<int64_t>(lane_words), static_cast<int64_t>(outputs)},
              packed),
        words("a.qzeros", {static_cast<int64_t>(groups), zero_words}, packed_zeros),
        floats("a.scales", {static_cast<int64_t>(groups), static_cast<int64_t>(outputs)}, scales),
        words("a.g_idx", {static_cast<int64_t>(inputs)}, {index.begin(), index.end()})};
  }
  std::string config(const std::string& more = "") const {
    return R"({"quant_method":"gptq","bits":)" + std::to_string(bits) + R"(,"group_size":)" +
           std::to_string(groups == 1 ? -1 : static_cast<int>(inputs / groups)) +
           R"(,"desc_act":)" + (order ? "true" : "false") +
           (v2 ? R"(,"checkpoint_format":"gptq_v2")" : "") + more + "}";
  }
  void check(const Floats& got) const {
    ASSERT_EQ(got.size(), outputs * inputs);
    for (std::size_t o = 0; o < outputs; ++o)
      for (std::size_t i = 0; i < inputs; ++i) {
        const auto g = static_cast<std::size_t>(index[i]);
        ASSERT_EQ(got[o * inputs + i],
                  static_cast<float>(codes[o * inputs + i] - zeros[g * outputs + o]) * scale(g, o))
            << bits << " bits, output " << o << ", input " << i;
      }
  }
};

TEST(QuantizedGptq, EveryWidthVersionAndOrder) {
  for (const int bits : {2, 3, 4, 8})
    for (const bool v2 : {false, true})
      for (const bool order : {false, true})
        for (const std::size_t groups : {std::size_t{1}, std::size_t{4}}) {
          Gptq q{.groups = groups, .bits = bits, .v2 = v2, .order = order};
          q.fill();
          const auto r = read_scheme(q.file(), q.config());
          q.check(r->values("a.weight"));
          if (!order)
            q.check(read_scheme(without(q.file(), "a.g_idx"), q.config())->values("a.weight"));
        }
}

TEST(QuantizedGptq, CodesThatCount) {
  std::vector<uint32_t> codes;
  for (uint32_t o = 0; o < 8; ++o) codes.push_back(0x76543210 + o * 0x11111111);
  const auto r =
      read_scheme({words("a.qweight", {1, 8}, codes),
                   words("a.qzeros", {1, 1}, {0x77777777}),
                   {"a.scales",
                    "F16",
                    {1, 8},
                    std::string("\0\x3c\0\x3c\0\x3c\0\x3c\0\x3c\0\x3c\0\x3c\0\x3c", 16)}},
                  R"({"quant_method":"gptq","bits":4,"group_size":-1,"sym":true})");
  const auto got = r->values("a.weight");
  for (int o = 0; o < 8; ++o)
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(got[static_cast<std::size_t>(o * 8 + i)], static_cast<float>(o + i - 8));
  EXPECT_EQ(r->at("a.weight").stored_as, "gptq int4 with a scale per row with zero points");
}

/// Zero points 7 8 9 0 15 1 2 3 in the three ways in which files have them.
TEST(QuantizedGptq, ZeroPoints) {
  const auto zeros_of = [](uint32_t stored, const std::string& more) {
    const auto r = read_scheme(
        {words("a.qweight", {1, 8}, std::vector<uint32_t>(8)), words("a.qzeros", {1, 1}, {stored}),
         floats("a.scales", {1, 8}, Floats(8, -1))},
        R"({"quant_method":"gptq","bits":4,"group_size":-1)" + more + "}");
    const auto all = r->values("a.weight");
    Floats first;
    for (std::size_t o = 0; o < 8; ++o) first.push_back(all[o * 8]);
    return first;
  };
  const Floats wanted{7, 8, 9, 0, 15, 1, 2, 3};
  EXPECT_EQ(zeros_of(0x321f0987, R"(,"checkpoint_format":"gptq_v2")"), wanted);
  EXPECT_EQ(zeros_of(0x210ef876, ""), wanted);
  EXPECT_EQ(zeros_of(0x210df876, R"(,"meta":{"quantizer":["gptqmodel:1.4.0"]})"), wanted);
  // Symmetric files that say gptq and hold gptq_v2.
  EXPECT_EQ(zeros_of(0x77777777, R"(,"sym":true)"), Floats(8, 8));
  EXPECT_EQ(zeros_of(0x88888888, R"(,"sym":true)"), Floats(8, 8));
  EXPECT_EQ(zeros_of(0x88888888, R"(,"sym":false)"), Floats(8, 9));
}

TEST(QuantizedGptq, ModulesWithWidthsOfTheirOwn) {
  Gptq q{.bits = 8};
  q.fill();
  const std::string config = R"({"quant_method":"gptq","bits":4,"group_size":32,
      "dynamic":{"+:a":{"bits":8,"group_size":16}}})";
  q.check(read_scheme(without(q.file(), "a.g_idx"), config)->values("a.weight"));
  q.check(read_scheme(q.file(), config)->values("a.weight"));
}

TEST(QuantizedGptq, WhatIsRefused) {
  Gptq q{.order = true};
  q.fill();
  const auto file = q.file();
  const std::string config = q.config();
  for (const char* piece : {"a.scales", "a.qzeros", "a.g_idx"})
    expect_refused(std::string("needs '") + piece, without(file, piece), config);
  expect_refused("does not explain", without(file, "a.qweight"), config);
  expect_refused("[8, 32] expected",
                 with(file, words("a.qweight", {4, 64}, std::vector<uint32_t>(256))), config);
  expect_refused("[4, 4] expected",
                 with(file, words("a.qzeros", {4, 3}, std::vector<uint32_t>(12))), config);
  expect_refused("group_size 16",
                 with(with(file, floats("a.scales", {8, 32}, Floats(256))),
                      words("a.qzeros", {8, 4}, std::vector<uint32_t>(32))),
                 config);
  expect_refused("into group 9 of 4",
                 with(file, words("a.g_idx", {64}, std::vector<uint32_t>(64, 9))), config);
  expect_refused("[4, 32] expected", with(file, words("a.g_idx", {32}, std::vector<uint32_t>(32))),
                 config);
  expect_refused("is stored as i32",
                 with(file, words("a.scales", {4, 32}, std::vector<uint32_t>(128))), config);
  for (const auto& [text, part] : {std::pair{R"("bits":5)", "bits is 5"},
                                   {R"("bits":4,"group_size":0)", "group_size is 0"},
                                   {R"("bits":4,"checkpoint_format":"marlin")", "'marlin'"},
                                   {R"("bits":4,"is_marlin_format":true)", "is_marlin_format"},
                                   {R"("bits":4,"pack_dtype":"int16")", "'int16'"},
                                   {R"("bits":"4")", "an integer expected"}})
    expect_refused(part, file, std::string(R"({"quant_method":"gptq",)") + text + "}");
}

// AWQ.

uint32_t awq_word(const int* outputs) {
  constexpr int kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
  uint32_t word = 0;
  for (int p = 0; p < 8; ++p) word |= static_cast<uint32_t>(outputs[kOrder[p]]) << 4 * p;
  return word;
}

TEST(QuantizedAwq, OrderZeroPointsAndPartialGroups) {
  const int counted[] = {0, 1, 2, 3, 4, 5, 6, 7};
  ASSERT_EQ(awq_word(counted), 0x75316420u);
  constexpr std::size_t kInputs = 10, kOutputs = 16, kGroups = 3;  // of 4 inputs
  const auto codes = scrambled(kInputs * kOutputs, 16, 31);        // [input, output]
  const auto zeros = scrambled(kGroups * kOutputs, 16, 32);
  std::vector<uint32_t> packed, packed_zeros;
  for (std::size_t i = 0; i < codes.size(); i += 8) packed.push_back(awq_word(&codes[i]));
  for (std::size_t i = 0; i < zeros.size(); i += 8) packed_zeros.push_back(awq_word(&zeros[i]));
  Floats scales;
  for (std::size_t i = 0; i < kGroups * kOutputs; ++i)
    scales.push_back(0.7f + static_cast<float>(i));
  const std::vector<Entry> file{words("a.qweight", {kInputs, 2}, packed),
                                words("a.qzeros", {kGroups, 2}, packed_zeros),
                                floats("a.scales", {kGroups, kOutputs}, scales)};
  const std::string config = R"({"quant_method":"awq","bits":4,"group_size":4,"zero_point":true,
      "version":"GEMM"})";
  const auto r = read_scheme(file, config);
  const auto got = r->values("a.weight");
  EXPECT_EQ(r->at("a.weight").shape, (Shape{kOutputs, kInputs}));
  for (std::size_t o = 0; o < kOutputs; ++o)
    for (std::size_t i = 0; i < kInputs; ++i) {
      const std::size_t at = i / 4 * kOutputs + o;
      EXPECT_EQ(got[o * kInputs + i],
                static_cast<float>(codes[i * kOutputs + o] - zeros[at]) * scales[at]);
    }
  for (const char* piece : {"a.scales", "a.qzeros"})
    expect_refused(std::string("needs '") + piece, without(file, piece), config);
  expect_refused("[3, 2] expected", with(file, words("a.qzeros", {2, 3}, std::vector<uint32_t>(6))),
                 config);
  expect_refused("[10, 2] expected",
                 with(file, words("a.qweight", {10, 1}, std::vector<uint32_t>(10))), config);
  expect_refused("[3, 16] expected", with(file, floats("a.scales", {2, 16}, Floats(32))), config);
  expect_refused("'gemv'", file, R"({"quant_method":"awq","bits":4,"version":"gemv"})");
  expect_refused("bits 8", file, R"({"quant_method":"awq","bits":8})");
  expect_refused("group_size is -4", file, R"({"quant_method":"awq","group_size":-4})");
}

}  // namespace
}  // namespace cupel::format
