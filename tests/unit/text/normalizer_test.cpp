// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/normalizer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "support.h"
#include "text/unicode.h"

namespace cupel::text {
namespace {

std::string run(const std::string& json, std::string text) {
  const auto j = nlohmann::json::parse(json);
  make_normalizer(Part(&j, "normalizer"))->apply(text);
  return text;
}

TEST(Normalizer, UnicodeForms) {
  EXPECT_EQ(run(R"({"type":"NFC"})", "e\u0301 plain"), "\u00e9 plain");
  EXPECT_EQ(run(R"({"type":"NFD"})", "\u00e9"), "e\u0301");
  EXPECT_EQ(run(R"({"type":"NFKC"})", "\ufb01\u2167"), "fiVIII");
  EXPECT_EQ(run(R"({"type":"NFKD"})", "\u00bd"), "1\u20442");
  EXPECT_EQ(run(R"({"type":"NFC"})", "a\u0323\u0307"), run(R"({"type":"NFC"})", "a\u0307\u0323"));
}

TEST(Normalizer, RewritesText) {
  EXPECT_EQ(run(R"({"type":"Lowercase"})", "ÀB\u0130"), "àbi\u0307");
  EXPECT_EQ(run(R"({"type":"Prepend","prepend":"▁"})", "a"), "▁a");
  EXPECT_EQ(run(R"({"type":"Prepend","prepend":"▁"})", ""), "");
  EXPECT_EQ(run(R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})", "a b "), "a▁b▁");
  EXPECT_EQ(run(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})", "a   b c"),
            "a b c");
  EXPECT_EQ(run(R"({"type":"StripAccents"})", "e\u0301"), "e");
  EXPECT_EQ(run(R"({"type":"StripAccents"})", "\u1cf2a\u07fd"), "a\u07fd");  // by older tables
  EXPECT_EQ(run(R"({"type":"ByteLevel"})", " \u00e9"), "\u0120\u00c3\u00a9");
}

TEST(Normalizer, Strips) {
  EXPECT_EQ(run(R"({"type":"Strip","strip_left":true,"strip_right":true})", "\u3000 a b\n"), "a b");
  EXPECT_EQ(run(R"({"type":"Strip","strip_left":true,"strip_right":false})", " a "), "a ");
  EXPECT_EQ(run(R"({"type":"Strip","strip_left":false,"strip_right":true})", " a "), " a");
  EXPECT_EQ(run(R"({"type":"Strip","strip_left":true,"strip_right":true})", " \t "), "");
}

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at + 3 <= bytes.size(); at += 3) {
    uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | static_cast<unsigned char>(bytes[at + i]);
    for (int shift = 18; shift >= 0; shift -= 6) out += kDigits[bits >> shift & 63];
  }
  return out;
}

/// A table of SentencePiece: "A" to "x", "AB" to "y".
std::string charsmap() {
  const auto leaf = [](uint32_t label, uint32_t offset) { return label | 1u << 8 | offset << 10; };
  std::vector<uint32_t> units(67);
  units['A'] = leaf('A', 1);
  units['A' ^ 1] = 1u << 31;  // the value of "A": place 0
  units[('A' ^ 1) ^ 'B'] = leaf('B', 3);
  units[('A' ^ 1) ^ 'B' ^ 3] = 1u << 31 | 2;
  std::string blob;
  const auto append = [&](uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) blob += static_cast<char>(word >> shift & 255);
  };
  append(static_cast<uint32_t>(4 * units.size()));
  for (const uint32_t unit : units) append(unit);
  blob.append("x\0y\0", 4);
  return base64(blob);
}

TEST(Normalizer, AppliesTablesByGrapheme) {
  const std::string table = charsmap();
  const auto by_grapheme = [&](const std::string& text) {
    return run(R"({"type":"Precompiled","precompiled_charsmap":")" + table + R"("})", text);
  };
  EXPECT_EQ(by_grapheme("AB BA\n"), "xB Bx\n");
  EXPECT_EQ(by_grapheme("A\u0301B"), "xB");                              // the whole grapheme
  EXPECT_EQ(by_grapheme("A\u0301\u0302\u0303"), "x\u0301\u0302\u0303");  // too long for that
  const auto as_sentencepiece = [&](const std::string& text) {
    return run(
        R"({"type":"SentencePiece","add_dummy_prefix":false,"remove_extra_whitespaces":false,
            "escape_whitespaces":false,"whitespace_as_suffix":false,"user_defined":[],
            "charsmap":")" +
            table + R"("})",
        text);
  };
  EXPECT_EQ(as_sentencepiece("AB BA A\u0301"), "y Bx x\u0301");
}

TEST(Normalizer, OfTranslation) {
  EXPECT_EQ(run(R"({"type":"Nmt"})", "a\tb\u200bc\x01\u009f\ufffd\u2581"), "a b c  ");
}

TEST(Normalizer, OfBert) {
  const auto bert = [](const std::string& more, const std::string& text) {
    return run(R"({"type":"BertNormalizer","clean_text":true)" + more + "}", text);
  };
  EXPECT_EQ(bert("", "Caf\u00e9\u4e2d\u200d\r\nX"), "cafe \u4e2d   x");
  EXPECT_EQ(bert(R"(,"strip_accents":null,"lowercase":false)", "Caf\u00e9"), "Caf\u00e9");
  EXPECT_EQ(bert(R"(,"strip_accents":false,"lowercase":true)", "CAF\u00c9"), "caf\u00e9");
  EXPECT_EQ(bert(R"(,"handle_chinese_chars":false)", "\u4e2d"), "\u4e2d");
  EXPECT_EQ(bert("", "a\u07fdb\u1734\u0890"), "a\u07fdb\u0890");  // by older tables
}

TEST(Normalizer, SequencesRunInOrder) {
  EXPECT_EQ(
      run(R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":" "},{"type":"Replace","pattern":{"String":" "},"content":"_"}]})",
          "a b"),
      "_a_b");
}

TEST(Normalizer, NamesWhatItDoesNotKnow) {
  const Error e = test::error_of(
      [] { run(R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Nmu"}]})", ""); });
  EXPECT_EQ(e.fault(), Fault::data);
  EXPECT_EQ(e.message(), "tokenizer: normalizer.normalizers[1]: type 'Nmu' is not supported");
}

// tokenizers has the tables of Unicode 9: marks that came later keep their place and end a
// composition.
TEST(Normalizer, MarksNewerThanUnicode9StayWhereTheyAre) {
  EXPECT_EQ(normalize("a\u0301\u0323", Form::nfc), "\u1ea1\u0301");
  EXPECT_EQ(normalize("a\u0898\u0323", Form::nfd), "a\u0898\u0323");
  EXPECT_EQ(normalize("a\u0898\u0301", Form::nfc), "a\u0898\u0301");
  EXPECT_EQ(normalize("\U00011935\U00011930", Form::nfc), "\U00011935\U00011930");
  EXPECT_EQ(normalize("\u32ff", Form::nfkc), "\u32ff");
}

}  // namespace
}  // namespace cupel::text
