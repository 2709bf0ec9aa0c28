// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/normalizer.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(run(R"({"type":"ByteLevel"})", " \u00e9"), "\u0120\u00c3\u00a9");
}

TEST(Normalizer, Strips) {
  EXPECT_EQ(run(R"({"type":"Strip","strip_left":true,"strip_right":true})", "\u3000 a b\n"), "a b");
  EXPECT_EQ(run(R"({"type":"Strip","strip_left":true,"strip_right":false})", " a "), "a ");
  EXPECT_EQ(run(R"({"type":"Strip","strip_left":false,"strip_right":true})", " a "), " a");
  EXPECT_EQ(run(R"({"type":"Strip","strip_left":true,"strip_right":true})", " \t "), "");
}

TEST(Normalizer, SequencesRunInOrder) {
  EXPECT_EQ(
      run(R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":" "},{"type":"Replace","pattern":{"String":" "},"content":"_"}]})",
          "a b"),
      "_a_b");
}

TEST(Normalizer, NamesWhatItDoesNotKnow) {
  const Error e = test::error_of(
      [] { run(R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Nmt"}]})", ""); });
  EXPECT_EQ(e.fault(), Fault::data);
  EXPECT_EQ(e.message(), "tokenizer: normalizer.normalizers[1]: type 'Nmt' is not supported");
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
