// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.h"

namespace cupel::text {
namespace {

using Strings = std::vector<std::string>;

Strings cut(const std::string& json, const std::string& text, bool at_start = true) {
  const auto j = nlohmann::json::parse(json);
  const PreTokenizers p = make_pretokenizers(Part(&j, "pre_tokenizer"));
  Strings out;
  const auto sink = [&](const Piece& piece) { out.emplace_back(piece.text); };
  if (p.steps)
    p.steps->split({text, at_start}, sink);
  else
    out.push_back(text);
  return out;
}

Strings split(const std::string& behavior, const std::string& text, const char* invert = "false") {
  return cut(R"({"type":"Split","pattern":{"String":"-"},"behavior":")" + behavior +
                 R"(","invert":)" + invert + "}",
             text);
}

TEST(PreTokenizer, Behaviors) {
  const std::string t = "the-final--countdown";
  EXPECT_EQ(split("Removed", t), (Strings{"the", "final", "countdown"}));
  EXPECT_EQ(split("Isolated", t), (Strings{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(split("MergedWithPrevious", t), (Strings{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(split("MergedWithNext", t), (Strings{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(split("Contiguous", t), (Strings{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(split("Removed", t, "true"), (Strings{"-", "-", "-"}));
  EXPECT_EQ(split("MergedWithNext", "a-"), (Strings{"a", "-"}));
  EXPECT_EQ(split("MergedWithPrevious", "-a"), (Strings{"-", "a"}));
}

TEST(PreTokenizer, ByteLevelUsesTheRegexOfGpt2) {
  const std::string json =
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
  EXPECT_EQ(cut(json, "Hello world's  12!"), (Strings{"Hello", " world", "'s", " ", " 12", "!"}));
}

TEST(PreTokenizer, Digits) {
  EXPECT_EQ(cut(R"({"type":"Digits","individual_digits":true})", "a12\u00bdb"),
            (Strings{"a", "1", "2", "\u00bd", "b"}));
  EXPECT_EQ(cut(R"({"type":"Digits","individual_digits":false})", "a12b"),
            (Strings{"a", "12", "b"}));
}

TEST(PreTokenizer, PunctuationByOlderTables) {
  EXPECT_EQ(cut(R"({"type":"Punctuation"})", "a.b\u00bfc\u061dd\u166d"),
            (Strings{"a", ".", "b", "\u00bf", "c\u061dd", "\u166d"}));
}

TEST(PreTokenizer, Bert) {
  EXPECT_EQ(cut(R"({"type":"BertPreTokenizer"})", " It's  \u00a0ok--"),
            (Strings{"It", "'", "s", "ok", "-", "-"}));
}

TEST(PreTokenizer, FixedLength) {
  EXPECT_EQ(cut(R"({"type":"FixedLength","length":2})", "a\u00e9b c"),
            (Strings{"a\u00e9", "b ", "c"}));
  EXPECT_EQ(test::error_of([] { cut(R"({"type":"FixedLength","length":0})", "a"); }).fault(),
            Fault::data);
}

TEST(PreTokenizer, CharDelimiterSplit) {
  const std::string json = R"({"type":"CharDelimiterSplit","delimiter":"\u00e9"})";
  EXPECT_EQ(cut(json, "a\u00e9\u00e9b\u00e9"), (Strings{"a", "b"}));
  for (const char* bad : {"", "ab"})
    EXPECT_EQ(test::error_of([&] {
                cut(R"({"type":"CharDelimiterSplit","delimiter":")" + std::string(bad) + "\"}",
                    "a");
              }).fault(),
              Fault::data);
}

TEST(PreTokenizer, Metaspace) {
  const std::string first =
      R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true})";
  EXPECT_EQ(cut(first, "a b"), (Strings{"▁a", "▁b"}));
  EXPECT_EQ(cut(first, "a b", false), (Strings{"a", "▁b"}));
  EXPECT_EQ(cut(first, " a"), (Strings{"▁a"}));
  EXPECT_EQ(cut(R"({"type":"Metaspace","replacement":"▁","add_prefix_space":false})", "a b"),
            (Strings{"a", "▁b"}));
}

TEST(PreTokenizer, WordsAndPunctuation) {
  EXPECT_EQ(cut(R"({"type":"Whitespace"})", " ab, c_d!?"), (Strings{"ab", ",", "c_d", "!?"}));
  EXPECT_EQ(cut(R"({"type":"WhitespaceSplit"})", " ab,\u00a0c "), (Strings{"ab,", "c"}));
  EXPECT_EQ(cut(R"({"type":"Punctuation"})", "a,.b"), (Strings{"a", ",", ".", "b"}));
}

TEST(PreTokenizer, SequencesRunInOrder) {
  EXPECT_EQ(
      cut(R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Digits","individual_digits":true}]})",
          "ab 12"),
      (Strings{"ab", "1", "2"}));
}

TEST(PreTokenizer, NamesWhatItDoesNotKnow) {
  const Error type = test::error_of([] { cut(R"({"type":"UnicodeScripts"})", ""); });
  EXPECT_EQ(type.message(), "tokenizer: pre_tokenizer: type 'UnicodeScripts' is not supported");
  const Error key =
      test::error_of([] { cut(R"({"type":"Digits","individual_digits":true,"base":2})", ""); });
  EXPECT_EQ(key.message(), "tokenizer: pre_tokenizer: key 'base' is not known");
  const Error behavior = test::error_of([] { split("Doubled", ""); });
  EXPECT_NE(behavior.message().find("Doubled"), std::string::npos);
}

}  // namespace
}  // namespace cupel::text
