// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support.h"
#include "text/bpe_merger.h"

namespace cupel::text {
namespace {

using test::Parts, test::pieces;
using Strings = std::vector<std::string>;

std::shared_ptr<const Tokenizer> bpe(const std::string& options, const std::string& vocab,
                                     const std::string& merges) {
  Parts parts;
  parts.model =
      R"({"type":"BPE")" + options + R"(,"vocab":)" + vocab + R"(,"merges":)" + merges + "}";
  return test::tokenizer(parts);
}

TEST(Bpe, MergesByRankThenFromTheLeft) {
  const auto t = test::tokenizer({});
  EXPECT_EQ(pieces(*t, "hello"), (Strings{"hello"}));
  EXPECT_EQ(pieces(*t, "hellhello"), (Strings{"hell", "hello"}));
  const auto aa = bpe("", R"({"a":0,"aa":1,"aaa":2})", R"([["a","a"],["aa","a"]])");
  EXPECT_EQ(aa->encode("aaaaa"), (std::vector<Token>{1, 2}));
}

TEST(Bpe, ReadsBothSpellingsOfMerges) {
  const char* vocab = R"({"a":0,"b":1,"ab":2,"a b":3," ":4,"a ":5})";
  EXPECT_EQ(bpe("", vocab, R"(["a b"])")->encode("ab"), (std::vector<Token>{2}));
  EXPECT_EQ(bpe("", vocab, R"([["a"," "],["a ","b"]])")->encode("a b"), (std::vector<Token>{3}));
  const Error e = test::error_of([&] { bpe("", vocab, R"(["a b c"])"); });
  EXPECT_NE(e.message().find("merge 'a b c'"), std::string::npos) << e.what();
}

TEST(Bpe, TheLastOfEqualMergesCounts) {
  // With rank 0 for (a, b), "abc" would be "ab" "c".
  const char* vocab = R"({"a":0,"b":1,"c":2,"ab":3,"bc":4})";
  EXPECT_EQ(bpe("", vocab, R"(["a b","b c","a b"])")->encode("abc"), (std::vector<Token>{0, 4}));
}

TEST(Bpe, RefusesMergesOutsideTheVocabulary) {
  const Error e = test::error_of([] { bpe("", R"({"a":0,"b":1})", R"(["a b"])"); });
  EXPECT_EQ(e.fault(), Fault::data);
  EXPECT_NE(e.message().find("'ab' is not in the vocabulary"), std::string::npos) << e.what();
}

TEST(Bpe, IgnoreMergesTakesAWholePiece) {
  const char* vocab = R"({"a":0,"b":1,"c":2,"abc":3})";
  EXPECT_EQ(bpe(R"(,"ignore_merges":true)", vocab, "[]")->encode("abc"), (std::vector<Token>{3}));
  EXPECT_EQ(bpe("", vocab, "[]")->encode("abc"), (std::vector<Token>{0, 1, 2}));
}

TEST(Bpe, UnknownCharacters) {
  const char* vocab = R"({"a":0,"<unk>":1,"<0xC3>":2,"<0xA9>":3})";
  EXPECT_EQ(bpe("", vocab, "[]")->encode("a\u00e9a"), (std::vector<Token>{0, 0}));
  const std::string unk = R"(,"unk_token":"<unk>")";
  EXPECT_EQ(bpe(unk, vocab, "[]")->encode("zza"), (std::vector<Token>{1, 1, 0}));
  EXPECT_EQ(bpe(unk + R"(,"fuse_unk":true)", vocab, "[]")->encode("zza"),
            (std::vector<Token>{1, 0}));
  const std::string bytes = unk + R"(,"byte_fallback":true)";
  EXPECT_EQ(bpe(bytes, vocab, "[]")->encode("\u00e9"), (std::vector<Token>{2, 3}));
  EXPECT_EQ(bpe(bytes, vocab, "[]")->encode("\u00e8"),
            (std::vector<Token>{1}));  // <0xA8> is not there
  const Error e =
      test::error_of([&] { bpe(R"(,"unk_token":"<none>")", vocab, "[]")->encode("z"); });
  EXPECT_NE(e.message().find("<none>"), std::string::npos);
}

TEST(Bpe, PrefixAndSuffix) {
  const auto t = bpe(R"(,"continuing_subword_prefix":"##","end_of_word_suffix":"$")",
                     R"({"a":0,"##b":1,"##c$":2,"ab":3})", R"([["a","##b"]])");
  EXPECT_EQ(t->encode("abc"), (std::vector<Token>{3, 2}));
}

// The definition: try all neighbours, join the best, start again.
std::vector<Token> merged_slowly(std::vector<Token> ids,
                                 const std::map<std::pair<Token, Token>, Merge>& merges) {
  for (;;) {
    std::size_t best = ids.size();
    uint32_t rank = ~0u;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto at = merges.find({ids[i], ids[i + 1]});
      if (at != merges.end() && at->second.rank < rank) rank = at->second.rank, best = i;
    }
    if (best == ids.size()) return ids;
    ids[best] = merges.at({ids[best], ids[best + 1]}).result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, HeapAndBucketsFollowTheDefinition) {
  std::mt19937 random(7);
  for (const std::size_t length : {2u, 9u, 200u, 5000u}) {
    std::map<std::pair<Token, Token>, Merge> merges;
    BpeMerger merger;
    for (uint32_t rank = 0; rank < 40; ++rank) {
      const auto pick = [&] { return static_cast<Token>(random() % (4 + rank / 2)); };
      const std::pair<Token, Token> pair{pick(), pick()};
      merges[pair] = {rank, static_cast<Token>(4 + rank)};
    }
    for (const auto& [pair, merge] : merges) merger.add(pair.first, pair.second, merge, 0, 0);
    std::vector<Symbol> symbols(length);
    std::vector<Token> ids;
    for (std::size_t i = 0; i < length; ++i) {
      ids.push_back(static_cast<Token>(random() % 4));
      symbols[i] = {ids[i], static_cast<int32_t>(i) - 1,
                    i + 1 < length ? static_cast<int32_t>(i) + 1 : -1};
    }
    merger.run(symbols);
    std::vector<Token> fast;
    for (const Symbol& s : symbols)
      if (s.id >= 0) fast.push_back(s.id);
    EXPECT_EQ(fast, merged_slowly(ids, merges)) << length;
  }
}

TEST(Bpe, LongPiecesAreLinear) {
  const auto t = bpe("", R"({"a":0,"aa":1,"aaaa":2,"aaaaaaaa":3})",
                     R"([["a","a"],["aa","aa"],["aaaa","aaaa"]])");
  EXPECT_EQ(t->encode(std::string(4'000'000, 'a')).size(), 500'000u);
}

}  // namespace
}  // namespace cupel::text
