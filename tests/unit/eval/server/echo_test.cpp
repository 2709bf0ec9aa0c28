// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/echo.h"

#include <cmath>

#include "fakes.h"

namespace cupel::eval {
namespace {

using test::error_of;
using test::LetterTokenizer;
using test::Tokens;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Tokens a.. with log-probabilities -0, -1, -2, ...
std::vector<ListedToken> listed(const std::string& letters) {
  std::vector<ListedToken> out;
  for (std::size_t i = 0; i < letters.size(); ++i)
    out.push_back({letters.substr(i, 1), i == 0 ? kNone : -static_cast<double>(i), -0.5});
  return out;
}

class Echo : public ::testing::Test {
 protected:
  Echo() { tokenizer_.has_bos = true; }
  PromptScores read(const Tokens& ids, const std::vector<ListedToken>& tokens,
                    EchoCheck check = EchoCheck::texts) {
    return read_echo(ids, tokens, tokenizer_, check);
  }
  void refused(const Tokens& ids, const std::vector<ListedToken>& tokens,
               const std::string& wanted) {
    const Error e = error_of([&] { read(ids, tokens); });
    EXPECT_EQ(e.fault(), Fault::environment);
    EXPECT_NE(e.message().find(wanted), std::string::npos) << e.message();
  }
  LetterTokenizer tokenizer_;
};

TEST_F(Echo, FindsEveryTokenAndWhatWasWritten) {
  const PromptScores s = read({0, 1, 2}, listed("abcz"));
  ASSERT_EQ(s.log_prob.size(), 3u);
  EXPECT_TRUE(std::isnan(s.log_prob[0]));
  EXPECT_EQ(s.log_prob[1], -1);
  EXPECT_EQ(s.log_prob[2], -2);
  EXPECT_EQ(s.best[2], -0.5);
  EXPECT_EQ(s.written, 1);
  EXPECT_EQ(s.written_log_prob, -3);
}

TEST_F(Echo, NothingNeedsToBeWritten) {
  const PromptScores s = read({0, 1, 2}, listed("abc"));
  EXPECT_EQ(s.log_prob[2], -2);
  EXPECT_EQ(s.written, 0);
  EXPECT_TRUE(std::isnan(s.written_log_prob));
}

TEST_F(Echo, ABosMayBeLeftOut) {
  for (const char* shown : {"abz", "ab"}) {
    const PromptScores s = read({LetterTokenizer::kBos, 0, 1}, listed(shown));
    ASSERT_EQ(s.log_prob.size(), 3u);
    EXPECT_TRUE(std::isnan(s.log_prob[0]));
    EXPECT_TRUE(std::isnan(s.log_prob[1])) << "the server does not say it";
    EXPECT_EQ(s.log_prob[2], -1);
    EXPECT_EQ(s.written, shown[2] == 'z' ? 1 : 0);
  }
  const PromptScores whole = read({LetterTokenizer::kBos, 0, 1}, listed("#ab"));
  EXPECT_EQ(whole.log_prob[2], -2);
  EXPECT_EQ(whole.written, 0);
}

TEST_F(Echo, OtherCountsAreRefused) {
  refused({0, 1, 2}, listed("z"), "1 tokens for a prompt of 3");
  refused({0, 1, 2}, listed("ab"), "2 tokens for a prompt of 3");
  refused({0, 1, 2}, listed("abczz"), "5 tokens for a prompt of 3");
  refused({0, 1, 2}, {}, "0 tokens for a prompt of 3");
}

TEST_F(Echo, OtherTextsAreRefused) {
  refused({0, 1, 2}, listed("abdz"), "token 2 of the prompt is \"d\" on the server, and \"c\"");
  EXPECT_NO_THROW(read({0, 1, 2}, listed("abdz"), EchoCheck::count));
}

TEST_F(Echo, TokensMayBeShownByTheirNumbers) {
  std::vector<ListedToken> tokens = listed("abcz");
  for (std::size_t i = 0; i < 3; ++i) tokens[i].text = "token_id:" + std::to_string(i);
  EXPECT_EQ(read({0, 1, 2}, tokens).log_prob[2], -2);
  tokens[2].text = "token_id:3";
  refused({0, 1, 2}, tokens, "token 2");
}

TEST_F(Echo, AFirstSpaceMayComeAndGo) {
  std::vector<ListedToken> tokens = listed("abcz");
  tokens[0].text = " a";
  EXPECT_EQ(read({0, 1, 2}, tokens).log_prob[2], -2);
  tokens[1].text = " b";  // the pieces fit, the text does not
  refused({0, 1, 2}, tokens, "do not add up");
}

TEST_F(Echo, CutCharactersHaveNoTextOfTheirOwn) {
  std::vector<ListedToken> tokens = listed("abcz");
  for (const char* shown : {"", "\xEF\xBF\xBD"}) {
    tokens[1].text = shown;
    EXPECT_EQ(read({0, 1, 2}, tokens).log_prob[2], -2);
  }
}

}  // namespace
}  // namespace cupel::eval
