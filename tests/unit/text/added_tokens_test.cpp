// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include "base/log.h"
#include "support.h"

namespace cupel::text {
namespace {

using test::Parts, test::pieces;
using Strings = std::vector<std::string>;

std::string added(const std::string& content, const std::string& flags, int id) {
  return R"({"id":)" + std::to_string(id) + R"(,"content":")" + content + "\"" + flags + "}";
}

constexpr const char* kRaw = R"(,"special":true,"normalized":false)";

std::shared_ptr<const Tokenizer> with(const std::string& list,
                                      const std::string& normalizer = "null") {
  Parts parts;
  parts.added_tokens = "[" + list + "]";
  parts.normalizer = normalizer;
  parts.decoder = R"({"type":"Fuse"})";
  return test::tokenizer(parts);
}

TEST(AddedTokens, LeftmostThenLongest) {
  const auto t = with(added("<a>", kRaw, 102) + "," + added("<a>b", kRaw, 103));
  EXPECT_EQ(pieces(*t, "x<a>by<a>c"), (Strings{"x", "<a>b", "y", "<a>", "c"}));
}

TEST(AddedTokens, SpecialTextStaysTextUnlessAsked) {
  const auto t = with(added("<s>", kRaw, 102) + "," +
                      added("<t>", R"(,"special":false,"normalized":false)", 103));
  EXPECT_EQ(pieces(*t, "<s><t>", {}), (Strings{"<", "s", ">", "<t>"}));
  EXPECT_EQ(pieces(*t, "<s><t>"), (Strings{"<s>", "<t>"}));
  EXPECT_TRUE(t->is_special(102));
  EXPECT_FALSE(t->is_special(103));
}

TEST(AddedTokens, SwallowWhiteSpace) {
  const auto left = with(added("<s>", std::string(kRaw) + R"(,"lstrip":true)", 102));
  EXPECT_EQ(pieces(*left, "a \n<s> b"), (Strings{"a", "<s>", " ", "b"}));
  const auto right = with(added("<s>", std::string(kRaw) + R"(,"rstrip":true)", 102));
  EXPECT_EQ(pieces(*right, "a <s>\u3000 b"), (Strings{"a", " ", "<s>", "b"}));
}

TEST(AddedTokens, ATokenOfWhiteSpaceThatIsSwallowedIsGone) {
  const auto t = with(added("  ", R"(,"lstrip":true,"rstrip":true,"normalized":false)", 102));
  EXPECT_EQ(pieces(*t, "a    b"), (Strings{"a", "  ", "b"}));
}

TEST(AddedTokens, SingleWords) {
  const auto t = with(added("he", R"(,"single_word":true,"normalized":false)", 96));
  EXPECT_EQ(t->encode("he"), (std::vector<Token>{96}));
  EXPECT_EQ(pieces(*t, "he,hex"), (Strings{"he", ",", "he", "x"}));
  // Turned down as a word, its text goes to the model, whose merges make the same token.
  EXPECT_EQ(pieces(*t, "\u00e9he"), (Strings{"he"}));
}

TEST(AddedTokens, NormalizedOnesMatchNormalizedText) {
  const auto t = with(added("Day", R"(,"normalized":true)", 102), R"({"type":"Lowercase"})");
  EXPECT_EQ(t->encode("dAY"), (std::vector<Token>{102}));
  EXPECT_EQ(t->decode(std::vector<Token>{102}), "day");
}

TEST(AddedTokens, EachStretchIsNormalizedOnItsOwn) {
  const auto t = with(added("<s>", kRaw, 102), R"({"type":"Prepend","prepend":"_"})");
  EXPECT_EQ(pieces(*t, "a<s>b"), (Strings{"_", "a", "<s>", "_", "b"}));
}

TEST(AddedTokens, IdsFollowTheVocabulary) {
  log::clear_warnings();
  const auto t = with(added("hello", "", 7) + "," + added("<new>", kRaw, 500));
  EXPECT_EQ(t->find("hello"), 99);
  EXPECT_EQ(t->find("<new>"), 102);
  EXPECT_EQ(t->size(), 103);
  EXPECT_EQ(log::warnings().size(), 2u);
  log::clear_warnings();
}

TEST(AddedTokens, ManyTokensAreFoundQuickly) {
  std::string list;
  for (int i = 0; i < 5000; ++i)
    list += (i ? "," : "") + added("<tok" + std::to_string(i) + ">", kRaw, 102 + i);
  const auto t = with(list);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "<tok<" + std::to_string(i);
  EXPECT_GT(t->encode(text, {.special_text = true}).size(), 20000u);
}

}  // namespace
}  // namespace cupel::text
