// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Several models over one text, and a reference.
#include <cmath>
#include <limits>

#include "base/cat.h"
#include "eval/perplexity.h"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using namespace test;

const PerplexityOptions kOptions{Protocol::gptq, 4, 0};
const std::string kText = "abcdabcd";

TEST(Measure, ReferenceThatIsAModelIsScoredOnceAndHasNoDivergence) {
  FakeScorer base = repeater(3), other = uniform();
  const auto out =
      measure_text({&other, &base}, &base, LetterTokenizer(), kText, "t.txt", kOptions);
  EXPECT_EQ(base.calls.size(), 2u);
  EXPECT_EQ(other.calls.size(), 2u);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_FALSE(out[1].divergence);
  ASSERT_TRUE(out[0].divergence);
  EXPECT_EQ(out[0].divergence->against, "repeater");
  // One position for each target.
  EXPECT_EQ(out[0].divergence->tokens, out[0].perplexity.tokens);
  EXPECT_EQ(out[0].divergence->kl.size(), 6u);
  EXPECT_NEAR(out[0].perplexity.value, 29, 1e-11);
  // KL(p || uniform) = log 29 - entropy of p, the same at every position.
  const double z = std::exp(3.0) + 28, p = std::exp(3.0) / z, q = 1 / z;
  EXPECT_NEAR(out[0].divergence->kl_mean, std::log(29) + p * std::log(p) + 28 * q * std::log(q),
              1e-9);
  EXPECT_NEAR(*out[0].divergence->kl_error, 0, 1e-12);
}

TEST(Measure, ReferenceOutsideTheModels) {
  FakeScorer base = repeater(3), same = repeater(3), other = uniform();
  same.piece = 1;  // how the rows are handed over doesn't matter
  const auto out =
      measure_text({&same, &other}, &base, LetterTokenizer(), kText, "t.txt", kOptions);
  EXPECT_EQ(base.calls.size(), 2u);
  EXPECT_EQ(out[0].divergence->kl_spread.max, 0);
  EXPECT_EQ(out[0].divergence->same_top1, 1);
  EXPECT_GT(out[1].divergence->kl_mean, 0);
}

TEST(Measure, ReferenceTwiceAmongTheModels) {
  FakeScorer base = repeater(3);
  const auto out = measure_text({&base, &base}, &base, LetterTokenizer(), kText, "t.txt", kOptions);
  EXPECT_EQ(base.calls.size(), 2u);
  EXPECT_EQ(out.at(1).perplexity.value, out.at(0).perplexity.value);
}

TEST(Measure, LlamaCppDivergenceCoversTheSecondHalf) {
  FakeScorer base = repeater(3), other = uniform();
  const auto out =
      measure_text({&other}, &base, LetterTokenizer(), kText, "t.txt", {Protocol::llamacpp, 8, 0});
  EXPECT_EQ(out.at(0).divergence->tokens, 3);
}

TEST(Measure, ReportsEachBlock) {
  FakeScorer scorer = uniform();
  std::vector<int64_t> done;
  measure_text({&scorer}, nullptr, LetterTokenizer(), kText, "t.txt", kOptions,
               [&](int64_t d, int64_t all) {
                 EXPECT_EQ(all, 2);
                 done.push_back(d);
               });
  EXPECT_EQ(done, (std::vector<int64_t>{1, 2}));
}

TEST(Measure, VocabulariesMustAgreeBeforeAnythingIsScored) {
  FakeScorer base = uniform();
  FakeScorer wide(
      "wide", [](const Tokens&, int64_t) { return std::vector<float>(32, 0.0f); }, 32);
  const Error e = error_of([&] {
    measure_text({&base, &wide}, &base, LetterTokenizer(), kText, "t.txt", kOptions);
  });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(),
            "the vocabularies differ: 29 logits in uniform, 32 in wide; divergence needs the same "
            "tokenizer");
  EXPECT_TRUE(base.calls.empty());
  // Perplexity alone works.
  EXPECT_NEAR(measure_text({&wide}, nullptr, LetterTokenizer(), kText, "t.txt", kOptions)[0]
                  .perplexity.value,
              32, 1e-11);
}

TEST(Measure, TokenizerOfAnotherModel) {
  FakeScorer narrow(
      "narrow", [](const Tokens&, int64_t) { return std::vector<float>(2, 0.0f); }, 2);
  const Error e = error_of(
      [&] { measure_text({&narrow}, nullptr, LetterTokenizer(), kText, "t.txt", kOptions); });
  EXPECT_EQ(e.fault(), Fault::data);
  EXPECT_EQ(e.message(),
            "token 2 lies outside the model's 2 logits: the tokenizer belongs to another model");
}

TEST(Measure, NumbersThatAreNotFiniteAreNamed) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    // Token 7 is no target: its logit alone is bad, in the second block.
    FakeScorer broken("broken", [&](const Tokens& ids, int64_t p) {
      return one_hot(7, p == 2 && ids[0] == 4 ? bad : 0.0f);
    });
    const Error e = error_of([&] {
      measure_text({&broken}, nullptr, LetterTokenizer(), "abcdefgh", "t.txt", kOptions);
    });
    EXPECT_EQ(e.fault(), Fault::data);
    EXPECT_EQ(e.message(), cat("the logit of token 7 at position 2 is ", bad, " in broken"));
    ASSERT_EQ(e.trail().size(), 1u);
    EXPECT_NE(std::string(e.what()).find("scoring block 1 with broken"), std::string::npos);
  }
}

TEST(Measure, ReferenceIsCheckedToo) {
  FakeScorer model = uniform();
  FakeScorer broken("broken", [](const Tokens&, int64_t p) {
    return one_hot(0, p == 1 ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
  });
  EXPECT_EQ(error_of([&] {
              measure_text({&model}, &broken, LetterTokenizer(), kText, "t.txt", kOptions);
            }).message(),
            "the logit of token 0 at position 1 is nan in broken");
}

TEST(Measure, EveryPositionHasItsContextAndClass) {
  FakeScorer base = repeater(3), other = uniform();
  const auto out = measure_text({&other}, &base, LetterTokenizer(), "ab cdab c", "t.txt", kOptions);
  const auto& d = *out.at(0).divergence;
  // Blocks "ab c" and "dab ": contexts 1 to 3 of each.
  ASSERT_EQ(d.by_position.size(), 2u);
  EXPECT_EQ(d.by_position[0].tokens, 2);
  EXPECT_EQ(d.by_position[1].tokens, 4);
  // b, c | a, b are letters; c follows a space.
  ASSERT_EQ(d.by_class.size(), 3u);
  EXPECT_EQ(d.by_class[0].name, "word start");
  EXPECT_EQ(d.by_class[0].tokens, 1);
  EXPECT_EQ(d.by_class[1].name, "word continuation");
  EXPECT_EQ(d.by_class[1].tokens, 3);
  EXPECT_EQ(d.by_class[2].name, "white space");
  EXPECT_EQ(d.by_class[2].tokens, 2);
  // The reference's perplexity comes from the same tokens.
  EXPECT_NEAR(d.perplexity->model, out[0].perplexity.value, 1e-9);
}

TEST(Measure, ShortestModelDecides) {
  FakeScorer base = uniform(), other = uniform();
  base.longest = 3;
  EXPECT_EQ(error_of([&] {
              measure_text({&other}, &base, LetterTokenizer(), kText, "t.txt", kOptions);
            }).message(),
            "blocks of 4 tokens are longer than the model's 3 positions");
}

}  // namespace
}  // namespace cupel::eval
