// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/divergence.h"

#include <cmath>

#include "eval/softmax.h"
#include "eval/top_tokens.h"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using Row = std::vector<float>;

/// Logits of a distribution, moved by a constant that may not matter.
Row logits(const std::vector<double>& p, double shift = 0) {
  Row out;
  for (const double x : p) out.push_back(static_cast<float>(std::log(x) + shift));
  return out;
}

TEST(Divergence, BothDirectionsOfTwoCoins) {
  DivergenceMeter meter;
  meter.add(logits({0.5, 0.5}), logits({0.25, 0.75}, 7), {0});
  const auto r = meter.result("base");
  EXPECT_EQ(r.against, "base");
  EXPECT_EQ(r.tokens, 1);
  EXPECT_NEAR(r.kl_mean, 0.5 * std::log(2) + 0.5 * std::log(0.5 / 0.75), 1e-6);
  EXPECT_NEAR(r.kl_reverse.value, 0.25 * std::log(0.5) + 0.75 * std::log(1.5), 1e-6);
  EXPECT_NEAR(r.delta_p.value, -0.25, 1e-6);
  EXPECT_NEAR(r.delta_p_rms.value, 0.25, 1e-6);
  // One position says nothing about errors.
  EXPECT_FALSE(r.kl_error || r.kl_reverse.error || r.same_top1_error || r.delta_p.error);
  EXPECT_FALSE(r.perplexity->log_ratio.error || r.perplexity->correlation);
  // {0.5, 0.5} is a tie: its best token is the lowest id, the model's is 1.
  EXPECT_EQ(r.same_top1, 0);
}

TEST(Divergence, EqualModelsAreAtZero) {
  DivergenceMeter meter;
  for (int i = 0; i < 5; ++i) meter.add(logits({0.1, 0.2, 0.7}), logits({0.1, 0.2, 0.7}), {i % 3});
  const auto r = meter.result("");
  EXPECT_EQ(r.kl_spread.max, 0);
  EXPECT_EQ(r.kl_reverse.value, 0);
  EXPECT_EQ(r.delta_p_rms.value, 0);
  EXPECT_EQ(r.same_top1, 1);
  EXPECT_EQ(r.kl.size(), 5u);
}

TEST(Divergence, TiesGoToTheLowestId) {
  EXPECT_EQ(argmax(Row{1, 3, 3, 2}), 1);
  EXPECT_EQ(argmax(Row{0, 0}), 0);
  DivergenceMeter meter;
  meter.add(Row{2, 2, 0}, Row{5, 1, 5}, Place{});
  meter.add(Row{2, 2, 0}, Row{1, 5, 5}, Place{});
  EXPECT_EQ(meter.result("").same_top1, 0.5);
}

TEST(Divergence, PositionsWithoutTargetAreLeftOutOfDeltaP) {
  DivergenceMeter meter;
  meter.add(logits({0.5, 0.5}), logits({0.25, 0.75}), {1});
  meter.add(logits({0.5, 0.5}), logits({0.25, 0.75}), {-1});
  meter.add(logits({0.5, 0.5}), logits({0.25, 0.75}), {0});
  const auto r = meter.result("");
  EXPECT_EQ(r.tokens, 3);
  EXPECT_NEAR(r.delta_p.value, 0, 1e-6);
  EXPECT_NEAR(r.delta_p_rms.value, 0.25, 1e-6);
}

TEST(Divergence, QuantilesAreLinearBetweenNeighbours) {
  DivergenceMeter meter;
  std::vector<double> expected;
  for (const double p : {0.9, 0.5, 0.8, 0.6}) {
    meter.add(logits({0.5, 0.5}), logits({p, 1 - p}), {0});
    expected.push_back(-0.5 * std::log(4 * p * (1 - p)));
  }
  const auto r = meter.result("");
  ASSERT_EQ(r.kl.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(r.kl[i], expected[i], 1e-6);  // in order
  // Sorted: p = 0.5, 0.6, 0.8, 0.9.
  EXPECT_NEAR(r.kl_spread.median(), (expected[3] + expected[2]) / 2, 1e-6);
  EXPECT_NEAR(r.kl_spread.p90(), expected[2] + 0.7 * (expected[0] - expected[2]), 1e-6);
  EXPECT_NEAR(r.kl_spread.p99(), expected[2] + 0.97 * (expected[0] - expected[2]), 1e-6);
  EXPECT_NEAR(r.kl_spread.max, expected[0], 1e-6);
  double mean = 0, squares = 0;
  for (const double k : expected) mean += k / 4;
  for (const double k : expected) squares += (k - mean) * (k - mean);
  EXPECT_NEAR(*r.kl_error, std::sqrt(squares / 3 / 4), 1e-6);
}

TEST(Divergence, LargeLogitsDoNotOverflow) {
  EXPECT_DOUBLE_EQ(log_sum_exp(Row{1000, 1000}), 1000 + std::log(2));
  EXPECT_DOUBLE_EQ(log_sum_exp(Row{-1000, -1000}), -1000 + std::log(2));
  DivergenceMeter meter;
  meter.add(Row{30000, -30000}, Row{-30000, 30000}, {0});
  EXPECT_NEAR(meter.result("").kl_mean, 60000, 1e-6);
  EXPECT_NEAR(meter.result("").delta_p.value, -1, 1e-12);
}

TEST(Divergence, NothingAddedIsAllZero) {
  const auto r = DivergenceMeter().result("x");
  EXPECT_EQ(r.tokens, 0);
  EXPECT_EQ(r.kl_mean, 0);
  EXPECT_EQ(r.same_top1, 0);
}

TEST(Divergence, VocabulariesMustAgree) {
  DivergenceMeter meter;
  const Error e = test::error_of([&] { meter.add(Row{0, 0}, Row{0, 0, 0}, {0}); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(),
            "the models' vocabularies differ: 2 and 3 logits; divergence needs the same tokenizer");
}

/// Twelve positions over six tokens; figures below are numpy's, by llama.cpp's formulas.
Row example_row(int i, int step, int square, int shift) {
  Row out;
  for (int j = 0; j < 6; ++j)
    out.push_back(0.5f * static_cast<float>((i * step + j * j * square + shift) % 13));
  return out;
}
Row example_p(int i) {
  return example_row(i, 7, 3, 0);
}
Row example_q(int i) {
  return example_row(i, 6, 4, 1);
}
Place example_place(int i) {
  return {(i * 5 + i * i) % 6, i + 1, i % 2 ? TokenClass::digits : TokenClass::space};
}

TEST(Divergence, FiguresOfAnotherImplementation) {
  DivergenceMeter meter;
  for (int i = 0; i < 12; ++i) meter.add(example_p(i), example_q(i), example_place(i));
  const auto r = meter.result("");
  EXPECT_EQ(r.kept_tokens, 0);
  EXPECT_NEAR(r.kl_mean, 1.8345137907223392, 1e-12);
  EXPECT_NEAR(*r.kl_error, 0.3516815610375428, 1e-12);
  EXPECT_NEAR(r.kl_reverse.value, 1.9035597051583524, 1e-12);
  EXPECT_NEAR(*r.kl_reverse.error, 0.3536019416868328, 1e-12);
  EXPECT_NEAR(r.same_top1, 0.25, 1e-15);
  EXPECT_NEAR(*r.same_top1_error, 0.13055824196677338, 1e-12);
  EXPECT_NEAR(r.delta_p.value, 0.0289631475667159, 1e-12);
  EXPECT_NEAR(*r.delta_p.error, 0.07558592758948068, 1e-12);
  EXPECT_NEAR(r.delta_p_rms.value, 0.2523577239993969, 1e-12);
  EXPECT_NEAR(*r.delta_p_rms.error, 0.052095343070521244, 1e-12);
  const double kl[] = {0.5053359487567182, 0.5053359487567182, 0.5053359487567182,
                       0.5053359487567182, 1.6194886149291867, 3.4083809494535906,
                       3.4500379513512787, 3.4835386263566948, 3.491076278232913};
  const double delta[] = {-0.28918402324619574, -0.2869200122064648,   -0.27685774091877163,
                          -0.26030328118792595, -0.024410707115490076, 0.4696077384568512,
                          0.4968847754865804,   0.49958821329460523,   0.5001964868014108};
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
    EXPECT_NEAR(r.kl_spread.percentiles[i], kl[i], 1e-12) << kPercentiles[i];
    EXPECT_NEAR(r.delta_p_spread.percentiles[i], delta[i], 1e-12) << kPercentiles[i];
  }
  EXPECT_NEAR(r.kl_spread.min, 0.5053359487567182, 1e-12);
  EXPECT_NEAR(r.kl_spread.max, 3.4919137951080486, 1e-12);
  EXPECT_NEAR(r.delta_p_spread.min, -0.2894355800283881, 1e-12);
  EXPECT_NEAR(r.delta_p_spread.max, 0.5002640727466114, 1e-12);
}

TEST(Divergence, PerplexitiesHaveAJointError) {
  const std::vector<double> p = {0.5, 1.25, 3.0, 2.0, 0.125}, q = {0.75, 1.0, 3.5, 2.25, 0.25};
  const PerplexityRatio r = perplexity_ratio(p, q);
  EXPECT_NEAR(r.reference, 3.955076722920577, 1e-12);
  EXPECT_NEAR(r.model, 4.711470182590742, 1e-12);
  EXPECT_NEAR(*r.correlation, 0.98344964347065, 1e-12);
  EXPECT_NEAR(r.log_ratio.value, 0.175, 1e-12);
  EXPECT_NEAR(*r.log_ratio.error, 0.12247448713915941, 1e-12);
  EXPECT_NEAR(r.ratio.value, 1.191246216612358, 1e-12);
  EXPECT_NEAR(*r.ratio.error, 0.14589726943606257, 1e-12);
  EXPECT_NEAR(r.difference.value, 0.7563934596701647, 1e-12);
  EXPECT_NEAR(*r.difference.error, 0.8422958625894676, 1e-12);
  // A model compared with itself has no error at all.
  EXPECT_NEAR(*perplexity_ratio(p, p).log_ratio.error, 0, 1e-12);
  EXPECT_FALSE(perplexity_ratio({{1.0, 1.0}}, {{2.0, 3.0}}).correlation);
}

TEST(Divergence, PartsAreThoseOfThePositions) {
  DivergenceMeter meter;
  for (int i = 0; i < 12; ++i) meter.add(example_p(i), example_q(i), example_place(i));
  const auto r = meter.result("");
  ASSERT_EQ(r.by_position.size(), 4u);  // contexts 1, 2-3, 4-7, 8-15
  EXPECT_EQ(r.by_position[0].name, "1");
  EXPECT_EQ(r.by_position[2].name, "4-7");
  EXPECT_EQ(r.by_position[3].from, 8);
  EXPECT_EQ(r.by_position[3].to, 15);
  EXPECT_EQ(r.by_position[3].tokens, 5);
  EXPECT_NEAR(r.by_position[1].kl.value, (r.kl[1] + r.kl[2]) / 2, 1e-12);
  EXPECT_FALSE(r.by_position[0].kl.error);
  EXPECT_NEAR(*r.by_position[1].kl.error, std::abs(r.kl[1] - r.kl[2]) / 2, 1e-12);
  ASSERT_EQ(r.by_class.size(), 2u);
  EXPECT_EQ(r.by_class[0].name, "digits");
  double odd = 0;
  for (std::size_t i = 1; i < 12; i += 2) odd += r.kl[i] / 6;
  EXPECT_NEAR(r.by_class[0].kl.value, odd, 1e-12);
  EXPECT_EQ(r.by_class[1].tokens, 6);
}

TEST(Divergence, SavedRowsGiveALowerBound) {
  DivergenceMeter full, two, all;
  TopTokens keep_two(2), keep_all(6);
  for (int i = 0; i < 12; ++i) {
    const Place place = example_place(i);
    full.add(example_p(i), example_q(i), place);
    two.add(keep_two.of(example_p(i), place.target), example_q(i), place);
    all.add(keep_all.of(example_p(i), place.target), example_q(i), place);
  }
  const auto f = full.result(""), t = two.result(""), a = all.result("");
  EXPECT_EQ(t.kept_tokens, 2);
  EXPECT_NEAR(t.kl_mean, 1.595804733319803, 1e-6);
  EXPECT_NEAR(t.kl_reverse.value, 0.9743684271690407, 1e-6);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_LT(t.kl[i], f.kl[i]);
    EXPECT_NEAR(a.kl[i], f.kl[i], 1e-6);  // nothing left out: only float32 rounds
  }
  EXPECT_NEAR(a.kl_reverse.value, f.kl_reverse.value, 1e-6);
  for (const auto& r : {t, a}) {
    EXPECT_EQ(r.same_top1, f.same_top1);
    EXPECT_NEAR(r.delta_p.value, f.delta_p.value, 1e-7);
    EXPECT_NEAR(r.delta_p_rms.value, f.delta_p_rms.value, 1e-7);
    EXPECT_NEAR(r.perplexity->log_ratio.value, f.perplexity->log_ratio.value, 1e-6);
  }
}

TEST(TopTokens, BestFirstAndTheLowerIdOnTies) {
  TopTokens top(3);
  const Row row = {-1, 2, -0.0f, 2, 0.0f};
  const TopRow kept = top.of(row, 4);
  EXPECT_EQ(test::Tokens(kept.ids.begin(), kept.ids.end()), (test::Tokens{1, 3, 2}));
  const double lse = log_sum_exp(row);
  EXPECT_NEAR(kept.log_p[0], 2 - lse, 1e-6);
  EXPECT_NEAR(kept.log_target, -lse, 1e-6);
  EXPECT_NEAR(kept.log_rest, std::log(std::exp(-1) + 1) - lse, 1e-6);
  EXPECT_EQ(TopTokens(5).of(row, 0).log_rest, -INFINITY);
}

}  // namespace
}  // namespace cupel::eval
