// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.h"

namespace cupel::text {
namespace {

using nlohmann::json;

struct Options {
  bool prefix = true, remove_extra = false, suffix = false, bytes = false;
  std::string charsmap;
};

json normalizer(const Options& o, const json& user_defined) {
  return {{"type", "SentencePiece"},      {"charsmap", o.charsmap},
          {"add_dummy_prefix", o.prefix}, {"remove_extra_whitespaces", o.remove_extra},
          {"escape_whitespaces", true},   {"whitespace_as_suffix", o.suffix},
          {"user_defined", user_defined}};
}

// Pieces: 0 unknown, 1 control, then those of the list; ids of special kinds by their text.
struct Pieces {
  std::vector<std::pair<std::string, double>> list;
  std::vector<std::string> user_defined = {}, unused = {}, reserved = {};
};

std::shared_ptr<const Tokenizer> make(const std::string& type, const Pieces& pieces,
                                      const Options& o = {}) {
  json vocab = json::array({json::array({"<unk>", 0}), json::array({"<s>", 0})});
  json user_defined = json::array(), unused = json::array(), reserved = {0, 1};
  for (const auto& [text, score] : pieces.list) {
    const auto in = [&](const std::vector<std::string>& some) {
      return std::find(some.begin(), some.end(), text) != some.end();
    };
    if (in(pieces.user_defined)) user_defined.push_back(vocab.size());
    if (in(pieces.unused)) unused.push_back(vocab.size());
    if (in(pieces.reserved)) reserved.push_back(vocab.size());
    vocab.push_back(json::array({text, score}));
  }
  test::Parts parts;
  parts.normalizer = normalizer(o, pieces.user_defined).dump();
  parts.model = json{
      {"type", type},
      {"unk_id", 0},
      {"byte_fallback", o.bytes},
      {"user_defined", user_defined},
      {"unused", unused},
      {"reserved", reserved},
      {"vocab",
       vocab}}.dump();
  return test::tokenizer(parts);
}

using Texts = std::vector<std::string>;

const Pieces kPieces = {{{"\u2581", -9},
                         {"a", -9},
                         {"b", -9},
                         {"c", -9},
                         {"ab", -1},
                         {"bc", -2},
                         {"\u2581ab", -3},
                         {"abc", -4}}};

TEST(SentencePieceBpe, JoinsTheBestScoreFirst) {
  const auto t = make("SentencePieceBPE", kPieces);
  EXPECT_EQ(test::pieces(*t, "ab"), (Texts{"\u2581ab"}));
  EXPECT_EQ(test::pieces(*t, "abc"), (Texts{"\u2581ab", "c"}));
  EXPECT_EQ(test::pieces(*t, "c bc"), (Texts{"\u2581", "c", "\u2581", "bc"}));
}

TEST(SentencePieceBpe, EqualScoresGoFromLeftToRight) {
  const Pieces tie = {{{"a", -9}, {"b", -9}, {"c", -9}, {"bc", -1}, {"ab", -1}}};
  const auto t = make("SentencePieceBPE", tie, {.prefix = false});
  EXPECT_EQ(test::pieces(*t, "abc"), (Texts{"ab", "c"}));
  std::string text;
  Texts want;
  for (int i = 0; i < 5000; ++i) {  // long enough for the other queue
    text += "abc";
    want.insert(want.end(), {"ab", "c"});
  }
  EXPECT_EQ(test::pieces(*t, text), want);
}

TEST(SentencePieceBpe, UserDefinedPiecesStandAlone) {
  Pieces pieces = kPieces;
  pieces.list.insert(pieces.list.end(), {{"b", 0}, {"c a", 0}});
  pieces.list.erase(pieces.list.begin() + 2);
  pieces.user_defined = {"b", "c a"};
  const auto t = make("SentencePieceBPE", pieces);
  EXPECT_EQ(test::pieces(*t, "ab"), (Texts{"\u2581", "a", "b"}));
  EXPECT_EQ(test::pieces(*t, "b"), (Texts{"\u2581", "b"}));
}

TEST(SentencePieceBpe, UnknownCharacters) {
  EXPECT_EQ(make("SentencePieceBPE", kPieces)->encode("axyb"), (std::vector<Token>{2, 3, 0, 4}));
  Pieces pieces = kPieces;
  pieces.list.insert(pieces.list.end(), {{"<0xC3>", 0}, {"<0xA9>", 0}});
  pieces.reserved = {"<0xC3>", "<0xA9>"};
  const auto t = make("SentencePieceBPE", pieces, {.prefix = false, .bytes = true});
  EXPECT_EQ(test::pieces(*t, "a\u00e9"), (Texts{"a", "<0xC3>", "<0xA9>"}));
  // A control piece and a byte piece are not found in text.
  EXPECT_EQ(t->encode("<s>").size(), 3u);
}

TEST(SentencePieceBpe, UnusedPiecesAreTakenApart) {
  Pieces pieces = kPieces;
  pieces.unused = {"ab", "c"};
  const auto t = make("SentencePieceBPE", pieces, {.prefix = false});
  EXPECT_EQ(test::pieces(*t, "ab"), (Texts{"a", "b"}));
  EXPECT_EQ(test::pieces(*t, "abc"), (Texts{"abc"}));
  EXPECT_EQ(t->encode("c"), (std::vector<Token>{0}));
}

TEST(SentencePieceUnigram, UserDefinedPiecesWin) {
  Pieces pieces = {{{"a", -1}, {"b", -1}, {"c", -1}, {"abc", -0.5}, {"bc", 0}}};
  pieces.user_defined = {"bc"};
  const auto t = make("SentencePieceUnigram", pieces, {.prefix = false});
  EXPECT_EQ(test::pieces(*t, "abc"), (Texts{"abc"}));
  EXPECT_EQ(test::pieces(*t, "bbc"), (Texts{"b", "bc"}));
  pieces.unused = {"abc"};
  EXPECT_EQ(test::pieces(*make("SentencePieceUnigram", pieces, {.prefix = false}), "abc"),
            (Texts{"a", "bc"}));
}

TEST(SentencePieceUnigram, UserDefinedPiecesScoreByTheirLength) {
  Pieces pieces = {{{"x", -1}, {"xab", -0.95}, {"ab", 0}}};
  pieces.user_defined = {"ab"};
  const auto t = make("SentencePieceUnigram", pieces, {.prefix = false});
  EXPECT_EQ(test::pieces(*t, "xab"), (Texts{"x", "ab"}));
}

TEST(SentencePieceUnigram, LargeSumsStartAgain) {
  const Pieces pieces = {{{"x", -1000}, {"p", -1}, {"q", -0.999}, {"pq", -2}}};
  const auto t = make("SentencePieceUnigram", pieces, {.prefix = false});
  const auto last = [&](int xs) {
    return test::pieces(*t, std::string(static_cast<std::size_t>(xs), 'x') + "pq").back();
  };
  EXPECT_EQ(last(1), "q");
  EXPECT_EQ(last(99), "pq");  // at -99002 the next number is 0.0078 away
  EXPECT_EQ(last(101), "q");
}

TEST(SentencePieceNormalizer, WhiteSpace) {
  const auto spaces = [](const Options& o, const std::string& text) {
    std::string out;
    for (const std::string& p : test::pieces(*make("SentencePieceUnigram", kPieces, o), text))
      out += p == "\u2581" ? "_" : p == "\u2581ab" ? "_ab" : p;
    return out;
  };
  EXPECT_EQ(spaces({}, " a  b "), "__a__b_");
  EXPECT_EQ(spaces({.remove_extra = true}, " a  b "), "_a_b");
  EXPECT_EQ(spaces({.prefix = false, .remove_extra = true}, " a  b "), "a_b");
  EXPECT_EQ(spaces({.remove_extra = true, .suffix = true}, " a  b "), "a_b_");
  EXPECT_EQ(spaces({.remove_extra = true}, "   "), "");
  EXPECT_EQ(spaces({}, ""), "");
}

TEST(SentencePieceNormalizer, DamagedTablesAreRefused) {
  for (const char* blob : {"?", "AAAA", "BAAAAAAAAAA=", "/////w==", "BQAAAAAAAAAA"})
    EXPECT_EQ(
        test::error_of([&] { make("SentencePieceUnigram", kPieces, {.charsmap = blob}); }).fault(),
        Fault::data)
        << blob;
}

}  // namespace
}  // namespace cupel::text
