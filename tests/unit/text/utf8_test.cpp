// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/utf8.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.h"
#include "text/unicode.h"

namespace cupel::text {
namespace {

TEST(Utf8, AppendsAndReadsBack) {
  for (const char32_t c : {U'a', U'\u00e9', U'\u20ac', U'\U0001F600', U'\u0080', U'\uFFFF'}) {
    std::string s = "x";
    utf8_append(s, c);
    std::size_t pos = 1;
    EXPECT_EQ(utf8_next(s, pos), c);
    EXPECT_EQ(pos, s.size());
    EXPECT_EQ(utf8_before(s, s.size()), 1u);
  }
}

TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(utf8_lossy("abc"), "abc");
  EXPECT_EQ(utf8_lossy("\xFF"), r);
  EXPECT_EQ(utf8_lossy("\xC0\xAF"), r + r);  // overlong
  EXPECT_EQ(utf8_lossy("\xE2\x82"), r);      // cut
  EXPECT_EQ(utf8_lossy("\xE2\x82"
                       "A"),
            r + "A");
  EXPECT_EQ(utf8_lossy("\xED\xA0\x80"), r + r + r);          // a surrogate
  EXPECT_EQ(utf8_lossy("\xF4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
  EXPECT_EQ(utf8_lossy("12345678\x80"
                       "12345678"),
            "12345678" + r + "12345678");
}

TEST(Utf8, FindsACutTail) {
  EXPECT_EQ(utf8_cut_tail("abc"), 0u);
  EXPECT_EQ(utf8_cut_tail("a\xE2\x82"), 2u);
  EXPECT_EQ(utf8_cut_tail("a\xF0\x9F\x98"), 3u);
  EXPECT_EQ(utf8_cut_tail("a\xE2\x82\xAC"), 0u);
  EXPECT_EQ(utf8_cut_tail("a\x80"), 0u);  // nothing can complete that
}

TEST(Utf8, AgreesWithTheFixture) {
  const std::string path = test::shared_file("tokenizers/torture_bytes.jsonl");
  if (path.empty()) GTEST_SKIP() << "needs the shared fixtures (set CUPEL_SHARED)";
  for (const std::string& line : test::lines_of(path)) {
    const auto j = nlohmann::json::parse(line);
    const std::string hex = j.at("hex");
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    EXPECT_EQ(utf8_lossy(bytes), j.at("lossy").get<std::string>()) << hex;
  }
}

TEST(Unicode, KnowsVersion16) {
  EXPECT_TRUE(is_letter(0x10D4A));  // Garay, 16
  EXPECT_TRUE(is_number(0x10D40));
  EXPECT_TRUE(is_letter(0x2EBF0));   // CJK extension I, 15.1
  EXPECT_FALSE(is_letter(0x10D8D));  // not assigned
  EXPECT_FALSE(is_space(0x180E));
  EXPECT_TRUE(is_space(0x3000));
  std::string buffer;
  EXPECT_EQ(with_known_characters("plain \u4e2d", buffer), "plain \u4e2d");
  EXPECT_EQ(with_known_characters("a\U00010D4A", buffer).size(), 5u);
}

TEST(Unicode, NormalizesLongRunsOfMarksInLinearTime) {
  std::string marks = "a";
  for (int i = 0; i < 100000; ++i) marks += i % 2 ? "\u0301" : "\u0323";
  const std::string out = normalize(marks, Form::nfd);
  EXPECT_EQ(out.size(), marks.size());
  EXPECT_EQ(out.substr(1, 4), "\u0323\u0323");
  EXPECT_EQ(normalize("e\u0301", Form::nfc), "\u00e9");
  EXPECT_EQ(normalize("\ufb01", Form::nfkc), "fi");
}

}  // namespace
}  // namespace cupel::text
