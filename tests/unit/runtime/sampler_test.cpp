// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "base/rng.h"

namespace cupel::runtime {
namespace {

using text::SamplingOptions;
using text::Token;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SamplingOptions plain() {
  SamplingOptions options;
  options.temperature = 1;
  options.top_k = 0;
  options.top_p = 1;
  options.min_p = 0;
  return options;
}

/// How often each token is drawn at `draws` positions.
std::map<Token, int> counts(const SamplingOptions& options, const std::vector<float>& logits,
                            int draws = 2000) {
  Sampler sampler(options);
  std::map<Token, int> result;
  std::vector<Token> history;
  for (int i = 0; i < draws; ++i) {
    ++result[sampler.pick(logits, history)];
    history.push_back(static_cast<Token>(logits.size()));  // a token that no penalty touches
  }
  return result;
}

std::set<Token> support(const SamplingOptions& options, const std::vector<float>& logits) {
  std::set<Token> result;
  for (const auto& [token, count] : counts(options, logits)) result.insert(token);
  return result;
}

Token greedy(SamplingOptions options, const std::vector<float>& logits,
             const std::vector<Token>& history = {}) {
  options.temperature = 0;
  return Sampler(options).pick(logits, history);
}

TEST(Sampler, TemperatureZeroTakesTheBestAndTheLowestIdOnTies) {
  EXPECT_EQ(greedy(plain(), {1, 3, 2}), 1);
  EXPECT_EQ(greedy(plain(), {1, 3, 3}), 1);
  EXPECT_EQ(greedy(plain(), {-kInfinity, -5, -kInfinity}), 1);
}

TEST(Sampler, FollowsTheSoftmax) {
  const auto result = counts(plain(), {std::log(1.f), std::log(2.f), std::log(5.f)}, 8000);
  EXPECT_NEAR(result.at(0), 1000, 120);
  EXPECT_NEAR(result.at(1), 2000, 160);
  EXPECT_NEAR(result.at(2), 5000, 190);
}

TEST(Sampler, TemperatureSharpens) {
  auto options = plain();
  options.temperature = 0.5;
  const auto result = counts(options, {std::log(1.f), std::log(3.f)}, 8000);
  EXPECT_NEAR(result.at(1), 7200, 120);
}

TEST(Sampler, TopK) {
  auto options = plain();
  options.top_k = 2;
  EXPECT_EQ(support(options, {0, 1, 2, 1}), (std::set<Token>{1, 2}));
  options.top_k = 100;
  EXPECT_EQ(support(options, {0, 1, 2, 1}), (std::set<Token>{0, 1, 2, 3}));
  options.top_k = 1;
  EXPECT_EQ(support(options, {2, 2, 2}), (std::set<Token>{0}));
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  auto options = plain();
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  options.top_p = 0.7;
  EXPECT_EQ(support(options, logits), (std::set<Token>{0, 1}));
  options.top_p = 0.9;
  EXPECT_EQ(support(options, logits), (std::set<Token>{0, 1, 2}));
  options.top_p = 0;
  EXPECT_EQ(support(options, logits), (std::set<Token>{0}));
}

TEST(Sampler, MinPIsRelativeToTheBest) {
  auto options = plain();
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  options.min_p = 0.25;
  EXPECT_EQ(support(options, logits), (std::set<Token>{0, 1, 2}));
  options.min_p = 1;
  EXPECT_EQ(support(options, logits), (std::set<Token>{0}));
}

TEST(Sampler, TruncationComesBeforeTemperature) {
  auto options = plain();
  options.top_p = 0.7;
  options.temperature = 10;  // first, it would flatten the distribution and let a third token in
  EXPECT_EQ(support(options, {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)}),
            (std::set<Token>{0, 1}));
}

TEST(Sampler, TopPSeesWhatTopKLeft) {
  auto options = plain();
  options.top_k = 2;
  options.top_p = 0.6;  // 0.5 / 0.8 of what is left
  EXPECT_EQ(support(options, {std::log(0.5f), std::log(0.3f), std::log(0.2f)}),
            (std::set<Token>{0}));
}

TEST(Sampler, BiasAddsAndExcludes) {
  auto options = plain();
  options.bias = {{2, 10.f}, {99, 1.f}};
  EXPECT_EQ(greedy(options, {1, 2, 0}), 2);
  options.bias = {{1, -kInfinity}};
  EXPECT_EQ(support(options, {1, 9, 0}), (std::set<Token>{0, 2}));
  options.bias = {{0, kInfinity}};
  EXPECT_EQ(support(options, {1, 9, 0}), (std::set<Token>{0}));
  options.bias = {{0, -kInfinity}, {1, -kInfinity}};
  EXPECT_THROW(greedy(options, {1, 9}), Error);
}

TEST(Sampler, RepeatPenaltyCountsEachTokenOnceInsideTheWindow) {
  auto options = plain();
  options.repeat_penalty = 2;
  EXPECT_EQ(greedy(options, {4, 3, 0}, {0, 0, 0}), 1);
  EXPECT_EQ(greedy(options, {4, 1.5f, 0}, {0, 0, 0}), 0);
  EXPECT_EQ(greedy(options, {-1, -1.5f}, {0}), 1);
  options.repeat_window = 2;
  EXPECT_EQ(greedy(options, {4, 3, 0}, {0, 2, 2}), 0);
  options.repeat_window = 0;
  EXPECT_EQ(greedy(options, {4, 3, 0}, {0}), 0);
}

TEST(Sampler, ADrawDependsOnSeedAndPositionAlone) {
  std::vector<float> logits(1000);
  Rng rng(3);
  for (auto& value : logits) value = static_cast<float>(rng.normal());
  SamplingOptions options;
  options.seed = 5;
  const std::vector<Token> history(17, 0);
  const Token first = Sampler(options).pick(logits, history);
  Sampler used(options);
  for (int i = 0; i < 9; ++i)
    used.pick(logits, std::span(history).first(static_cast<std::size_t>(i)));
  EXPECT_EQ(used.pick(logits, history), first);

  std::set<Token> by_seed, by_position;
  for (uint64_t i = 0; i < 20; ++i) {
    options.seed = i;
    by_seed.insert(Sampler(options).pick(logits, history));
    options.seed = 5;
    by_position.insert(Sampler(options).pick(logits, std::vector<Token>(i, 0)));
  }
  EXPECT_GT(by_seed.size(), 5u);
  EXPECT_GT(by_position.size(), 5u);
}

// The progressive sort and the heap against plain definitions.
TEST(Sampler, FiltersMatchTheirDefinitions) {
  Rng rng(9);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<float> logits(700);
    for (auto& value : logits) value = static_cast<float>(std::floor(rng.normal() * 4) / 2);
    auto options = plain();
    options.top_k = trial % 2 == 0 ? 0 : 1 + static_cast<int>(rng.below(600));
    options.top_p = 0.3 + 0.6 * rng.uniform();

    std::vector<std::pair<float, Token>> order;
    for (std::size_t i = 0; i < logits.size(); ++i)
      order.emplace_back(-logits[i], static_cast<Token>(i));
    std::sort(order.begin(), order.end());
    if (options.top_k > 0) order.resize(static_cast<std::size_t>(options.top_k));
    double total = 0, reached = 0;
    for (const auto& [negative, token] : order) total += std::exp(-static_cast<double>(negative));
    std::set<Token> allowed;
    for (const auto& [negative, token] : order) {
      if (!allowed.empty() && reached >= options.top_p * total) break;
      allowed.insert(token);
      reached += std::exp(-static_cast<double>(negative));
    }
    for (const Token token : support(options, logits)) EXPECT_TRUE(allowed.count(token)) << trial;
  }
}

TEST(Sampler, RefusesOptionsThatMeanNothing) {
  auto options = plain();
  options.temperature = -1;
  EXPECT_THROW(Sampler{options}, Error);
  options = plain();
  options.repeat_penalty = 0;
  EXPECT_THROW(Sampler{options}, Error);
  options = plain();
  options.top_p = std::nan("");
  EXPECT_THROW(Sampler{options}, Error);
}

}  // namespace
}  // namespace cupel::runtime
