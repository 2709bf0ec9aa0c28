// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/draft.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "base/error.h"
#include "tiny_model.h"

namespace cupel::runtime {
namespace {

using text::Token;
using Tokens = std::vector<Token>;

std::shared_ptr<const Model> tiny(uint64_t seed) {
  return Model::open(
      write_packed(make_tiny(seed, true), {.layout = "uniform"}, cat("draft", seed, ".cupel")), {});
}

text::GenerateOptions options_of(double temperature, int64_t tokens = 40) {
  text::GenerateOptions options;
  options.max_tokens = tokens;
  options.sampling.temperature = temperature;
  options.sampling.repeat_penalty = temperature > 0 ? 1.2 : 1;
  options.sampling.seed = 5;
  return options;
}

/// Always wrong, or right by chance.
class Nonsense : public Draft {
 public:
  void start(const text::SamplingOptions&) override {}
  Tokens propose(std::span<const Token>, int64_t most) override {
    return Tokens(static_cast<std::size_t>(most), 7);
  }
};

TEST(Draft, NeverChangesWhatIsGenerated) {
  const auto model = tiny(31), other = tiny(32);
  const Tokens prompt{5, 6, 7, 5, 6};
  for (const double temperature : {0.0, 0.8}) {
    const auto options = options_of(temperature);
    Session plain(model, {.threads = 1});
    const Tokens expected = plain.generate(prompt, options, {}).tokens;
    ASSERT_EQ(expected.size(), 40u);
    const std::pair<const char*, std::shared_ptr<Draft>> drafts[] = {
        {"itself", std::make_shared<ModelDraft>(model, SessionOptions{.threads = 1}, *model)},
        {"another", std::make_shared<ModelDraft>(other, SessionOptions{.threads = 1}, *model)},
        {"lookup", std::make_shared<LookupDraft>()},
        {"nonsense", std::make_shared<Nonsense>()}};
    for (const auto& [name, draft] : drafts)
      for (const int64_t tokens : {1, 3, 7}) {
        SCOPED_TRACE(cat(name, " ", tokens, " at ", temperature));
        Session session(model, {.threads = 2});
        session.set_draft(draft, tokens);
        const auto first = session.generate(prompt, options, {});
        EXPECT_EQ(first.tokens, expected);
        EXPECT_LE(first.guessed_right, first.guessed);
        if (name == std::string("itself")) {
          EXPECT_EQ(first.guessed_right, first.guessed);
        }
        // The same session goes on from what it holds.
        Tokens longer = prompt;
        longer.insert(longer.end(), expected.begin(), expected.begin() + 11);
        EXPECT_EQ(session.generate(longer, options_of(temperature, 29), {}).tokens,
                  Tokens(expected.begin() + 11, expected.end()));
      }
  }
}

TEST(Draft, IsTakenAwayAgain) {
  const auto model = tiny(31);
  Session session(model, {.threads = 1});
  session.set_draft(std::make_shared<Nonsense>(), 2);
  EXPECT_GT(session.generate(Tokens{1}, options_of(0, 5), {}).guessed, 0);
  session.set_draft(nullptr, 0);
  EXPECT_EQ(session.generate(Tokens{1}, options_of(0, 5), {}).guessed, 0);
}

TEST(Draft, TheContextBoundsGuesses) {
  const auto model = tiny(31);
  for (const int64_t context : {6, 7, 9}) {
    Session plain(model, {.threads = 1, .context = context});
    auto options = options_of(0, -1);
    const Tokens expected = plain.generate(Tokens{1, 2, 3}, options, {}).tokens;
    Session session(model, {.threads = 1, .context = context});
    session.set_draft(
        std::make_shared<ModelDraft>(model, SessionOptions{.threads = 1, .context = 5}, *model), 4);
    EXPECT_EQ(session.generate(Tokens{1, 2, 3}, options, {}).tokens, expected);
  }
}

TEST(Draft, RefusesWhatCannotWork) {
  const auto model = tiny(31);
  Session session(model, {.threads = 1});
  EXPECT_THROW(session.set_draft(std::make_shared<Nonsense>(), 0), Error);
  TinyModel narrow = make_tiny(33, true);
  narrow.config.vocab -= 1;
  narrow = make_tiny(33, narrow.config);
  const auto other = Model::open(write_packed(narrow, {.layout = "uniform"}, "narrow.cupel"), {});
  try {
    ModelDraft(other, {.threads = 1}, *model);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::user);
    EXPECT_NE(e.message().find("vocabulary"), std::string::npos);
  }
  TinyModel turning = make_tiny(34, true);
  turning.config.rope.type = "dynamic";
  turning.config.rope.factor = 2;
  const auto dynamic = Model::open(write_packed(turning, {}, "turning.cupel"), {});
  Session turned(dynamic, {.threads = 1});
  EXPECT_THROW(turned.set_draft(std::make_shared<LookupDraft>(), 3), Error);
}

TEST(LookupDraft, ContinuesTheLongestAndLatestAgreement) {
  LookupDraft draft;
  EXPECT_TRUE(draft.propose(Tokens{1, 2, 3}, 4).empty());
  EXPECT_TRUE(draft.propose(Tokens{1, 2, 9, 1, 2}, 4).empty());  // two agree, three are needed
  EXPECT_EQ(draft.propose(Tokens{1, 2, 3, 4, 5, 1, 2, 3}, 2), (Tokens{4, 5}));
  EXPECT_EQ(draft.propose(Tokens{1, 2, 3, 4, 5, 1, 2, 3}, 9), (Tokens{4, 5, 1, 2, 3}));
  EXPECT_EQ(draft.propose(Tokens{1, 2, 3, 8, 1, 2, 3, 9, 1, 2, 3}, 1), (Tokens{9}));
  EXPECT_EQ(draft.propose(Tokens{0, 1, 2, 3, 8, 6, 1, 2, 3, 9, 0, 1, 2, 3}, 1), (Tokens{8}));
  EXPECT_EQ(draft.propose(Tokens{4, 4, 4, 4}, 2), (Tokens{4}));
}

}  // namespace
}  // namespace cupel::runtime
