// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include "support.h"

namespace cupel::text {
namespace {

std::shared_ptr<const Tokenizer> unigram(const std::string& vocab,
                                         const std::string& options = R"(,"unk_id":0)") {
  test::Parts parts;
  parts.model = R"({"type":"Unigram")" + options + R"(,"vocab":)" + vocab + "}";
  return test::tokenizer(parts);
}

constexpr const char* kVocab = R"([["<unk>",0],["a",-1],["b",-1.5],["ab",-2],["abc",-9],["c",-3]])";

TEST(Unigram, TakesTheBestSum) {
  EXPECT_EQ(unigram(kVocab)->encode("ab"), (std::vector<Token>{3}));
  EXPECT_EQ(unigram(kVocab)->encode("abc"), (std::vector<Token>{3, 5}));
}

TEST(Unigram, FusesUnknownCharacters) {
  EXPECT_EQ(unigram(kVocab)->encode("xya\u00e9"), (std::vector<Token>{0, 1, 0}));
  const Error e = test::error_of([] { unigram(kVocab, "")->encode("x"); });
  EXPECT_NE(e.message().find("unk_id"), std::string::npos);
}

TEST(Unigram, FallsBackToBytes) {
  const auto t = unigram(R"([["<unk>",0],["a",-1],["<0xC3>",-9],["<0xA9>",-9]])",
                         R"(,"unk_id":0,"byte_fallback":true)");
  EXPECT_EQ(t->encode("a\u00e9"), (std::vector<Token>{1, 2, 3}));
  EXPECT_EQ(t->encode("\u00e8"), (std::vector<Token>{0}));
}

TEST(Unigram, RefusesBadTables) {
  for (const char* bad :
       {R"([["a"]])", R"([["a",1,2]])", R"(["a"])", R"([[1,"a"]])", R"({"a":"b"})"})
    EXPECT_EQ(test::error_of([&] { unigram(bad, ""); }).fault(), Fault::data) << bad;
  EXPECT_EQ(test::error_of([] { unigram(kVocab, R"(,"unk_id":99)"); }).fault(), Fault::data);
}

}  // namespace
}  // namespace cupel::text
