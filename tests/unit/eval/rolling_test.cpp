// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cmath>

#include "eval/blocks.h"
#include "eval/perplexity.h"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using namespace test;

constexpr Token kEos = LetterTokenizer::kEos;

std::vector<Block> windows(const std::string& text, int64_t length,
                           const LetterTokenizer& tokenizer = {}) {
  return blocks_of(tokenizer, plain_corpus("t.txt", text), {Protocol::words, length, 0}, 1024)
      .blocks;
}

void expect_block(const Block& block, const Tokens& ids, int64_t from, const Tokens& targets) {
  EXPECT_EQ(block.ids, ids);
  EXPECT_EQ(block.from, from);
  EXPECT_EQ(block.targets, targets);
}

TEST(Rolling, LastWindowIsFilledToTheLeft) {
  const auto w = windows("abcdefghij", 4);
  ASSERT_EQ(w.size(), 3u);
  expect_block(w[0], {kEos, 0, 1, 2}, 0, {0, 1, 2, 3});
  expect_block(w[1], {3, 4, 5, 6}, 0, {4, 5, 6, 7});
  expect_block(w[2], {5, 6, 7, 8}, 2, {8, 9});
}

TEST(Rolling, ShortAndExactTexts) {
  const auto one = windows("abc", 4);
  ASSERT_EQ(one.size(), 1u);
  expect_block(one[0], {kEos, 0, 1}, 0, {0, 1, 2});
  const auto exact = windows("abcdefgh", 4);
  ASSERT_EQ(exact.size(), 2u);
  expect_block(exact[1], {3, 4, 5, 6}, 0, {4, 5, 6, 7});
}

TEST(Rolling, EveryTokenIsScoredOnceAfterItsOwnPredecessor) {
  const std::string text = "thequickbrownfoxjumpsoverthelazydog";
  for (int64_t length = 1; length <= 40; ++length) {
    Tokens seen;
    for (const Block& b : windows(text, length)) {
      ASSERT_EQ(b.targets.size(), b.ids.size() - static_cast<std::size_t>(b.from));
      ASSERT_LE(static_cast<int64_t>(b.ids.size()), length);
      for (std::size_t i = 0; i < b.targets.size(); ++i) {
        EXPECT_EQ(b.ids[static_cast<std::size_t>(b.from) + i], seen.empty() ? kEos : seen.back());
        seen.push_back(b.targets[i]);
      }
    }
    EXPECT_EQ(seen, LetterTokenizer().encode(text, {}));
  }
}

TEST(Rolling, PrefixIsBosOnceThoughTheTokenizerAddsIt) {
  LetterTokenizer tokenizer;
  tokenizer.has_bos = tokenizer.adds_bos = true;
  expect_block(windows("ab", 4, tokenizer).at(0), {LetterTokenizer::kBos, 0}, 0, {0, 1});
  tokenizer = {};
  tokenizer.ends.clear();
  EXPECT_EQ(error_of([&] { windows("ab", 4, tokenizer); }).fault(), Fault::data);
}

TEST(Rolling, CompatScoresTheTokenizersOwnBosAfterTheFirst) {
  LetterTokenizer tokenizer;
  tokenizer.has_bos = tokenizer.adds_bos = true;
  constexpr Token kBos = LetterTokenizer::kBos;
  Tokens front;
  const auto compat = [&] {
    auto all = blocks_of(tokenizer, plain_corpus("t.txt", "abc"),
                         {Protocol::words, 3, 0, RollingBos::compat}, 1024);
    front = all.list.prepended;
    return all.blocks;
  };
  // ([BOS], [BOS, a, ..]), as lm-eval 0.4.13 has it, and every window one token later.
  auto w = compat();
  ASSERT_EQ(w.size(), 2u);
  expect_block(w[0], {kBos, kBos, 0}, 0, {kBos, 0, 1});
  expect_block(w[1], {kBos, 0, 1}, 2, {2});
  EXPECT_EQ(front, (Tokens{kBos, kBos}));
  // A tokenizer that adds none is not touched.
  tokenizer.adds_bos = false;
  w = compat();
  ASSERT_EQ(w.size(), 1u);
  expect_block(w[0], {kBos, 0, 1}, 0, {0, 1, 2});
  EXPECT_EQ(front, (Tokens{kBos}));
}

TEST(Rolling, BlocksSayWhereTheyLie) {
  const auto w = windows("abcdefghij", 4);
  EXPECT_EQ(w[0].place, (BlockPlace{0, -1, 4}));
  EXPECT_EQ(w[1].place, (BlockPlace{0, 3, 4}));
  EXPECT_EQ(w[2].place, (BlockPlace{0, 5, 2}));
}

PerplexityResult measure(const std::string& text, int64_t length, int64_t blocks = 0) {
  FakeScorer scorer = uniform();
  return measure_text({&scorer}, nullptr, LetterTokenizer(), text, "t.txt",
                      {Protocol::words, length, blocks})
      .at(0)
      .perplexity;
}

/// A uniform model pays log 29 a token, so its perplexity counts the words.
int64_t words_of(const std::string& text) {
  const double tokens = static_cast<double>(text.size());
  return std::lround(tokens * std::log(29) / std::log(measure(text, 64).value));
}

TEST(Words, CountedLikeASplitAtWhiteSpace) {
  EXPECT_EQ(words_of("one"), 1);
  EXPECT_EQ(words_of("one two  three"), 3);
  EXPECT_EQ(words_of(" one two\n"), 4);  // empty pieces at both ends
  EXPECT_EQ(words_of("a\t\r\n\f\v b"), 2);
  EXPECT_EQ(words_of("a\x1C"
                     "b"),
            2);
  EXPECT_EQ(words_of("a\xC2\xA0"
                     "b\xC2\x85"
                     "c"),
            3);  // no-break space, next line
  EXPECT_EQ(words_of("a\xE3\x80\x80"
                     "b\xE2\x80\x8A"
                     "c"),
            3);  // ideographic and hair space
  EXPECT_EQ(words_of("a\xE2\x80\x8B"
                     "b\xE2\x80\x94"
                     "c"),
            1);  // zero width space and dash are none
  EXPECT_EQ(words_of("\xC3\xA9\xC2"), 1);
}

TEST(Words, PerWordAndPerByte) {
  const auto r = measure("one two", 4);
  EXPECT_NEAR(r.value, std::exp(7 * std::log(29) / 2), 1e-8);
  EXPECT_NEAR(r.byte_perplexity.value, 29, 1e-10);
  EXPECT_NEAR(r.bits_per_byte.value, std::log2(29), 1e-12);
  EXPECT_EQ(r.tokens, 7);
  EXPECT_EQ(r.list.blocks.size(), 2u);
  EXPECT_EQ(r.words, 2);
  EXPECT_EQ(r.bytes, 7);
  EXPECT_EQ(r.error_over, "windows");
}

TEST(Words, BlocksCountTheWordsOfTheirOwnPart) {
  const auto r = measure("one two three four", 4, 2);  // "one two "
  EXPECT_EQ(r.tokens, 8);
  EXPECT_NEAR(r.value, std::exp(8 * std::log(29) / 3), 1e-8);
  EXPECT_NEAR(r.byte_perplexity.value, 29, 1e-10);
}

TEST(Words, WindowsAreTheSamplesOfOneText) {
  FakeScorer scorer = repeater(3);
  // Windows of 4, 4 and 2 tokens.
  const auto r = measure_text({&scorer}, nullptr, LetterTokenizer(), "aaa abcdef", "t.txt",
                              {Protocol::words, 4, 0})
                     .at(0)
                     .perplexity;
  double x[3], sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    x[i] = r.block_nll[i] * static_cast<double>(r.list.blocks[i].count);
    sum += x[i];
  }
  double squares = 0;
  for (std::size_t i = 0; i < 3; ++i)
    squares += std::pow(x[i] - sum / 10 * static_cast<double>(r.list.blocks[i].count), 2);
  const double per_token = std::sqrt(1.5 * squares) / 10;
  EXPECT_NEAR(r.value, std::exp(sum / 2), 1e-6);
  EXPECT_NEAR(*r.error / r.value, per_token * 5, 1e-9);
  EXPECT_NEAR(*r.byte_perplexity.error, r.byte_perplexity.value * per_token, 1e-9);
  EXPECT_NEAR(*r.bits_per_byte.error, per_token / std::log(2), 1e-9);
  // A single window tells nothing about the spread.
  EXPECT_FALSE(measure("abc", 8).error);
  EXPECT_FALSE(measure("abc", 8).bits_per_byte.error);
}

}  // namespace
}  // namespace cupel::eval
