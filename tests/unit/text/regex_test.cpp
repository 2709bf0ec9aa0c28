// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/regex.h"

#include <gtest/gtest.h>

#include "support.h"

namespace cupel::text {
namespace {

std::vector<std::string> matches(const std::string& pattern, const std::string& text) {
  std::vector<std::string> out;
  Regex(pattern).each(text,
                      [&](std::size_t s, std::size_t e) { out.push_back(text.substr(s, e - s)); });
  return out;
}

using Strings = std::vector<std::string>;

TEST(Regex, WhiteSpaceGivesItsLastCharacterAway) {
  EXPECT_EQ(matches(R"(\s+(?!\S)|\s+|\S+)", "a  b "), (Strings{"a", " ", " ", "b", " "}));
  EXPECT_EQ(matches(R"(\s+(?!\S)|\s+|\S+)", "a\u3000\u3000b"),
            (Strings{"a", "\u3000", "\u3000", "b"}));
}

TEST(Regex, IgnoresCaseAsUnicodeDoes) {
  EXPECT_EQ(matches("(?i:'s)", "'s 'S '\u017f"), (Strings{"'s", "'S", "'\u017f"}));
}

TEST(Regex, SpaceIsWhiteSpaceOnly) {
  EXPECT_TRUE(matches(R"(\s)", "\u180e\u200b\x1c").empty());
  EXPECT_EQ(matches(R"(\s)", "\u00a0\u0085").size(), 2u);
}

TEST(Regex, KnowsLettersNewerThanItsEngine) {
  EXPECT_EQ(matches(R"(\p{L}+)", "a\U00010D4A\u4e2d1"), (Strings{"a\U00010D4A\u4e2d"}));
}

TEST(Regex, WordCharactersAreThoseOfOniguruma) {
  EXPECT_EQ(matches(R"(\w+)", "a\u0301_\u2167\u00b2"), (Strings{"a\u0301_\u2167"}));
  EXPECT_EQ(matches(R"([^\w\s]+)", "a. b"), (Strings{"."}));
}

TEST(Regex, EmptyMatchesMoveOn) {
  EXPECT_EQ(matches("(?=[A-Z])", "aBcD").size(), 2u);
  EXPECT_EQ(matches("x*", "ab").size(), 3u);
}

TEST(Regex, RepeatedRepeats) {
  EXPECT_EQ(onig_to_pcre(R"(\p{N}{1,3}+)"), R"(\p{N}+)");
  EXPECT_EQ(onig_to_pcre("[{1,2}+]a{2,3}"), "[{1,2}+]a{2,3}");
}

TEST(Regex, RefusesByName) {
  for (const char* bad : {"a{2,3}+", "[a[b]]", "[a&&b]", R"(\bx)", R"(\h)", "(?m:a)", "(", "[a"}) {
    const Error e = test::error_of([&] { Regex r{bad}; });
    EXPECT_EQ(e.fault(), Fault::data) << bad;
    EXPECT_NE(e.message().find(bad), std::string::npos) << e.what();
  }
}

TEST(Regex, GivesUpWithAnError) {
  const std::string text(40, 'a');
  const Error e = test::error_of([&] { matches("(a+a+)+[0-9]", text); });
  EXPECT_EQ(e.fault(), Fault::data);
  EXPECT_NE(e.message().find("gave up"), std::string::npos) << e.what();
}

TEST(Regex, LongRunsNeedNoRecursion) {
  const std::string text(2'000'000, ' ');
  EXPECT_EQ(matches(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", text).size(), 1u);
}

}  // namespace
}  // namespace cupel::text
