// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/answer.h"

#include "eval/answers/python_regex.h"
#include "eval/answers/python_text.h"
#include "tests/unit/eval/answers/support.h"

namespace cupel::eval {
namespace {

AnswerRule gsm8k() {
  return {{{"strict-match", {{"regex", "#### (\\-?[0-9\\.\\,]+)"}, {"take_first"}}},
           {"flexible-extract",
            {{"regex", "(-?[$0-9.,]{2,})|(-?[0-9]+)", -1, "[invalid]"}, {"take_first"}}}},
          {{",", "\\$", "(?s).*#### ", "\\.$"}, true}};
}

TEST(Answer, Gsm8kStrictAndFlexible) {
  const AnswerScorer scorer(gsm8k());
  const auto score = [&](const std::string& reply) {
    return scorer.score({reply}, {"He has 1,000 + 234.\n#### 1,234"});
  };
  const auto right = score("So it is $1,234.\n#### 1,234.");
  EXPECT_EQ(right.metrics,
            (std::vector<std::pair<std::string, double>>{{"exact_match,strict-match", 1},
                                                         {"exact_match,flexible-extract", 1}}));
  EXPECT_EQ(right.extracted[0].second, "1,234.");
  const auto loose = score("We get 1234 apples");
  EXPECT_EQ(loose.metrics[0].second, 0);
  EXPECT_EQ(loose.metrics[1].second, 1);
  EXPECT_EQ(loose.extracted[0].second, "[invalid]");
  // The first strict match and the last flexible one count.
  const auto two = score("#### 7\n#### 1234");
  EXPECT_EQ(two.metrics[0].second, 0);
  EXPECT_EQ(two.metrics[1].second, 1);
}

TEST(Answer, TriviaQaAliases) {
  const AnswerScorer scorer(
      {{{"remove_whitespace", {{"remove_whitespace"}, {"take_first"}}}}, {{}, true, true}});
  const std::vector<std::string> aliases = {"The Beatles", "Fab four"};
  EXPECT_EQ(scorer.score({" the \"beatles\""}, aliases).metrics[0].second, 1);
  EXPECT_EQ(scorer.score({"FAB-FOUR"}, aliases).metrics[0].second, 0);  // "fabfour"
  EXPECT_EQ(scorer.score({"Fab Four!"}, aliases).metrics[0].second, 1);
  EXPECT_EQ(scorer.score({"beatles"}, aliases).metrics[0].second, 0);
}

TEST(Answer, NoPipelineComparesTheFirstReply) {
  const auto score = AnswerScorer(AnswerRule{}).score({"a", "b"}, {"a"});
  EXPECT_EQ(score.metrics.front(), (std::pair<std::string, double>{"exact_match,none", 1}));
}

TEST(Answer, SeveralKeptRepliesScoreTheirMean) {
  const AnswerScorer scorer({{{"all", {{"strip"}}}}, {}});
  EXPECT_EQ(scorer.score({"a ", "b"}, {"a"}).metrics[0].second, 0.5);
}

TEST(Answer, BytesThatAreNotUtf8) {
  EXPECT_EQ(AnswerScorer(AnswerRule{}).score({"a\xFF"}, {"a\xEF\xBF\xBD"}).metrics[0].second, 1);
}

TEST(Answer, ErrorsNameTheThing) {
  const auto message = [](const AnswerRule& rule) {
    const Error e = test::error_from([&] { AnswerScorer{rule}; });
    EXPECT_EQ(e.fault(), Fault::user);
    return std::string(e.what());
  };
  EXPECT_NE(message({{{"mine", {{"regexp"}}}}, {}}).find("'mine': unknown function 'regexp'"),
            std::string::npos);
  EXPECT_NE(message({{{"mine", {{"regex", "(a"}}}}, {}}).find("reading filter 'mine'"),
            std::string::npos);
  EXPECT_NE(message({{{"mine", {{"regex", "a", 1, ""}}}}, {}}).find("group_select"),
            std::string::npos);
  EXPECT_NE(message({{}, {{"[a"}}}).find("regexes_to_ignore"), std::string::npos);
  EXPECT_EQ(test::error_from([] { AnswerScorer(AnswerRule{}).score({"a"}, {}); }).fault(),
            Fault::data);
}

TEST(PythonRegex, HardPatternsAreGivenUp) {
  const PythonRegex regex("(a|aa)+$");
  const std::string text = std::string(60, 'a') + "b";
  EXPECT_EQ(test::error_from([&] { regex.search(text); }).fault(), Fault::data);
}

TEST(PythonRegex, LongTextsNeedNoStack) {
  const std::string text(3'000'000, 'a');
  EXPECT_EQ(PythonRegex("(?s)(?:.|b)*#").search(text), false);
  EXPECT_EQ(PythonRegex("(?s).*").match_at(text, 1).front().end, text.size());
}

TEST(PythonText, LowerCase) {
  EXPECT_EQ(lower_text("\u0391\u03A3 \u03A3"), "\u03B1\u03C2 \u03C3");  // final, and alone
  EXPECT_EQ(lower_text("\u0391\u03A3\u0391"), "\u03B1\u03C3\u03B1");
  EXPECT_EQ(lower_text("\u0130"), "i\u0307");
}

TEST(PythonText, CaseOfTexts) {
  EXPECT_TRUE(is_upper_text("A1 \u2160"));
  EXPECT_FALSE(is_upper_text("1"));
  EXPECT_FALSE(is_upper_text("A\u01C5"));  // a title-case letter is neither
  EXPECT_TRUE(is_lower_text("a\u00AA"));
  EXPECT_FALSE(is_lower_text("aB"));
}

TEST(PythonText, Spaces) {
  EXPECT_EQ(strip("\x1C\u2003 a b\u00A0"), "a b");
  EXPECT_EQ(strip(" "), "");
  EXPECT_EQ(strip_any("\"'a'\"", "\""), "'a'");
  EXPECT_EQ(split_spaces(" a\u3000b\n"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(split_at("a,,b", ","), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(replace_all("aXbX", "X", "yy"), "ayybyy");
}

}  // namespace
}  // namespace cupel::eval
