// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/likelihood.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using test::error_of;
using test::FakeScorer;
using test::LetterTokenizer;
using test::one_hot;

std::vector<Likelihood> score(text::Scorer& scorer, const std::vector<Request>& requests) {
  std::vector<Likelihood> out(requests.size());
  std::vector<int> times(requests.size(), 0);
  likelihood_of(scorer)->score(requests, [&](std::size_t i, const Likelihood& l) {
    out[i] = l;
    ++times[i];
  });
  EXPECT_EQ(times, std::vector<int>(requests.size(), 1));
  return out;
}

/// ln p of a hot token and of a cold one, for one logit L among 29.
double hot(double l) {
  return l - std::log(std::exp(l) + 28);
}
double cold(double l) {
  return -std::log(std::exp(l) + 28);
}

TEST(Likelihood, RowsPredictTheTokenAfterThem) {
  // The repeater expects each token again: only a shift of one scores "aa" high and "ab" low.
  FakeScorer repeater = test::repeater(5);
  const auto l = score(repeater, {{{0}, {0, 0}}, {{0}, {0, 1}}, {{0, 1}, {1}}});
  EXPECT_NEAR(l[0].log_prob, 2 * hot(5), 1e-6);
  EXPECT_TRUE(l[0].greedy);
  EXPECT_NEAR(l[1].log_prob, hot(5) + cold(5), 1e-6);
  EXPECT_FALSE(l[1].greedy);
  EXPECT_NEAR(l[2].log_prob, hot(5), 1e-6);  // a continuation of one token
}

TEST(Likelihood, EqualInputsShareOnePass) {
  FakeScorer repeater = test::repeater(3);
  // Four choices of one token, and one that splits the same input elsewhere (harness#2984).
  std::vector<Request> requests;
  for (text::Token c = 0; c < 4; ++c) requests.push_back({{7, 8}, {c}});
  requests.push_back({{7}, {8, 9}});
  const auto l = score(repeater, requests);
  EXPECT_EQ(repeater.calls.size(), 1u);
  EXPECT_EQ(repeater.calls[0].from, 0);
  EXPECT_NEAR(l[0].log_prob, cold(3), 1e-6);
  EXPECT_NEAR(l[4].log_prob, 2 * cold(3), 1e-6);
}

TEST(Likelihood, LongContextsLoseTheirBeginning) {
  FakeScorer repeater = test::repeater(3);
  repeater.longest = 4;
  score(repeater, {{{1, 2, 3, 4, 5}, {6, 7}}});
  EXPECT_EQ(repeater.calls[0].ids, (Tokens{3, 4, 5, 6}));
  EXPECT_EQ(repeater.calls[0].from, 2);
  EXPECT_EQ(error_of([&] { score(repeater, {{{1}, {1, 2, 3, 4, 5}}}); }).fault(), Fault::data);
  EXPECT_EQ(error_of([&] { score(repeater, {{{1}, {}}}); }).fault(), Fault::data);
}

TEST(Likelihood, TokensOutsideTheVocabularyAreRefused) {
  FakeScorer repeater = test::repeater(3);
  EXPECT_EQ(error_of([&] { score(repeater, {{{1}, {40}}}); }).fault(), Fault::data);
}

}  // namespace
}  // namespace cupel::eval
