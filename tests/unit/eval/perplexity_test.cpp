// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The protocols that cut a text into blocks. Rolling windows: rolling_test.cpp.
#include "eval/perplexity.h"

#include <cmath>

#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using namespace test;

PerplexityResult measure(FakeScorer& scorer, const std::string& text,
                         const PerplexityOptions& options, const LetterTokenizer& tokenizer = {}) {
  return measure_text({&scorer}, nullptr, tokenizer, text, "t.txt", options).at(0).perplexity;
}

/// -log of the probabilities that repeater(logit) gives to the token before, and to any other.
double hit(double logit) {
  return std::log(std::exp(logit) + 28) - logit;
}
double miss(double logit) {
  return std::log(std::exp(logit) + 28);
}

TEST(Gptq, MeanOfBlockMeansOverShiftedTargets) {
  FakeScorer scorer = repeater(5);
  // Targets of "aabc": a b c, of "dddd": d d d; the tail "zz" is dropped.
  const auto r = measure(scorer, "aabcddddzz", {Protocol::gptq, 4, 0});
  const double first = (hit(5) + 2 * miss(5)) / 3, second = hit(5);
  ASSERT_EQ(r.block_nll.size(), 2u);
  EXPECT_NEAR(r.block_nll[0], first, 1e-12);
  EXPECT_NEAR(r.block_nll[1], second, 1e-12);
  EXPECT_NEAR(r.value, std::exp((first + second) / 2), 1e-12);
  // Two values: the standard error of their mean is half their distance.
  EXPECT_NEAR(*r.error, r.value * (first - second) / 2, 1e-12);
  EXPECT_EQ(r.error_over, "blocks");
  EXPECT_EQ(r.tokens, 6);
  EXPECT_EQ(r.list.blocks, (std::vector<BlockPlace>{{0, 0, 3}, {0, 4, 3}}));
  EXPECT_EQ(r.list.length, 4);
  EXPECT_EQ(r.list.text_tokens, 10);
  EXPECT_EQ(r.file, "t.txt");
}

TEST(Gptq, AllMassOnThePreviousTokenIsRightOnlyWhereItRepeats) {
  FakeScorer scorer = repeater(60);
  EXPECT_NEAR(measure(scorer, "aaaaaaaa", {Protocol::gptq, 4, 0}).value, 1, 1e-12);
  EXPECT_NEAR(measure(scorer, "abababab", {Protocol::gptq, 4, 0}).block_nll[0], 60, 1e-9);
}

TEST(Gptq, UniformModelHasThePerplexityOfItsVocabulary) {
  FakeScorer scorer = uniform();
  EXPECT_NEAR(measure(scorer, "some text", {Protocol::gptq, 3, 0}).value, 29, 1e-11);
  EXPECT_NEAR(*measure(scorer, "some text", {Protocol::gptq, 3, 0}).error, 0, 1e-12);
}

TEST(Gptq, BosStandsAtTheStartOfTheTextAlone) {
  LetterTokenizer tokenizer;
  tokenizer.has_bos = tokenizer.adds_bos = true;
  FakeScorer scorer = uniform();
  const auto r = measure(scorer, "abcdefg", {Protocol::gptq, 4, 0}, tokenizer);
  EXPECT_EQ(r.list.prepended, (Tokens{LetterTokenizer::kBos}));
  ASSERT_EQ(scorer.calls.size(), 2u);
  EXPECT_EQ(scorer.calls[0].ids, (Tokens{LetterTokenizer::kBos, 0, 1}));
  EXPECT_EQ(scorer.calls[1].ids, (Tokens{3, 4, 5}));
}

TEST(Gptq, TakesTheFirstBlocks) {
  FakeScorer scorer = uniform();
  EXPECT_EQ(measure(scorer, "abcdefgh", {Protocol::gptq, 2, 3}).list.blocks.size(), 3u);
  EXPECT_EQ(scorer.calls.size(), 3u);
}

TEST(Gptq, OneBlockHasNoError) {
  FakeScorer scorer = repeater(5);
  EXPECT_FALSE(measure(scorer, "aabc", {Protocol::gptq, 4, 0}).error);
}

TEST(LlamaCpp, ErrorComesFromTheTokens) {
  FakeScorer scorer = repeater(4);
  // One block, positions 3 and 4: a miss and a hit.
  const auto r = measure(scorer, "aaaabb", {Protocol::llamacpp, 6, 0});
  const double mean = (miss(4) + hit(4)) / 2;
  const double squares = (miss(4) * miss(4) + hit(4) * hit(4)) / 2;
  EXPECT_NEAR(r.value, std::exp(mean), 1e-12);
  EXPECT_NEAR(*r.error, r.value * std::sqrt((squares - mean * mean) / (2 - 1)), 1e-9);
  EXPECT_EQ(r.error_over, "tokens");
  EXPECT_EQ(r.list.blocks, (std::vector<BlockPlace>{{0, 0, 2}}));
}

TEST(LlamaCpp, ScoresPositionsFromTheMiddleToTheLastButOne) {
  for (const int64_t n : {3, 6, 7, 8}) {
    FakeScorer scorer = repeater(4);
    const auto r = measure(scorer, "abcdefghijklmnop", {Protocol::llamacpp, n, 1});
    EXPECT_EQ(r.tokens, n - 1 - n / 2);
    EXPECT_EQ(scorer.calls.at(0).from, n / 2);
    EXPECT_EQ(static_cast<int64_t>(scorer.calls[0].ids.size()), n - 1);
  }
  // Positions 3 and 4 of "aaaabb" predict tokens 4 and 5.
  FakeScorer scorer = repeater(4);
  EXPECT_NEAR(measure(scorer, "aaaabb", {Protocol::llamacpp, 6, 0}).block_nll[0],
              (miss(4) + hit(4)) / 2, 1e-12);
}

TEST(LlamaCpp, BosReplacesTheFirstTokenOfEachBlockWhereTheTokenizerAddsOne) {
  LetterTokenizer tokenizer;
  tokenizer.has_bos = true;
  FakeScorer plain = uniform();
  auto r = measure(plain, "abcdefgh", {Protocol::llamacpp, 4, 0}, tokenizer);
  EXPECT_TRUE(r.list.prepended.empty());
  EXPECT_EQ(plain.calls.at(1).ids, (Tokens{4, 5, 6}));

  tokenizer.adds_bos = true;
  FakeScorer scorer = uniform();
  r = measure(scorer, "abcdefgh", {Protocol::llamacpp, 4, 0}, tokenizer);
  EXPECT_EQ(r.list.prepended, (Tokens{LetterTokenizer::kBos}));
  ASSERT_EQ(scorer.calls.size(), 2u);
  EXPECT_EQ(scorer.calls[0].ids, (Tokens{LetterTokenizer::kBos, 0, 1}));
  EXPECT_EQ(scorer.calls[1].ids, (Tokens{LetterTokenizer::kBos, 4, 5}));
}

TEST(Blocks, ErrorsSayWhatThereIs) {
  FakeScorer scorer = uniform();
  const auto message = [&](const std::string& text, const PerplexityOptions& options) {
    const Error e = error_of([&] { measure(scorer, text, options); });
    EXPECT_EQ(e.fault(), Fault::user);
    return e.message();
  };
  EXPECT_EQ(message("abc", {Protocol::gptq, 8, 0}),
            "'t.txt' has 3 tokens, less than one block of 8; use a smaller --length or more text");
  EXPECT_EQ(message("abcdefgh", {Protocol::llamacpp, 4, 3}),
            "'t.txt' has 2 blocks, fewer than the 3 asked for");
  EXPECT_EQ(message("abc", {Protocol::gptq, 2048, 0}),
            "blocks of 2048 tokens are longer than the model's 1024 positions");
  EXPECT_NE(message("abc", {Protocol::gptq, 1, 0}).find("at least 2"), std::string::npos);
  EXPECT_NE(message("abc", {Protocol::llamacpp, 2, 0}).find("at least 3"), std::string::npos);
  EXPECT_NE(message("abc", {Protocol::words, 0, 0}).find("at least 1"), std::string::npos);
  EXPECT_NE(message("abc", {Protocol::gptq, 2, -1}).find("not -1"), std::string::npos);
  EXPECT_EQ(message("", {Protocol::words, 8, 0}), "'t.txt' is empty");
}

TEST(Protocols, NamesReadBack) {
  for (const Protocol p : {Protocol::gptq, Protocol::llamacpp, Protocol::words})
    EXPECT_EQ(protocol_from_name(protocol_name(p)), p);
  const Error e = error_of([] { protocol_from_name("awq"); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(), "unknown protocol 'awq' (known: gptq, llamacpp, words)");
  for (const RollingBos b : {RollingBos::once, RollingBos::compat})
    EXPECT_EQ(rolling_bos_from_name(rolling_bos_name(b)), b);
  EXPECT_EQ(error_of([] { rolling_bos_from_name("twice"); }).message(),
            "unknown rolling BOS 'twice' (known: once, compat)");
}

}  // namespace
}  // namespace cupel::eval
