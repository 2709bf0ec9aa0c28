// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Verdicts of Python's re and of lm-eval, written by tests/oracle/answer_cases.py.
#include "eval/answers/answer.h"
#include "eval/answers/filters.h"
#include "eval/answers/python_regex.h"
#include "tests/unit/eval/answers/support.h"

namespace cupel::eval {
namespace {

using test::json;

std::vector<json> cases(const std::string& kind) {
  std::vector<json> out;
  for (auto& c : test::oracle_cases("answer_cases.jsonl", "CUPEL_ANSWER_CASES"))
    if (c["kind"] == kind) out.push_back(std::move(c));
  EXPECT_FALSE(out.empty());
  return out;
}

TEST(AnswerOracle, RegexMatches) {
  for (const auto& c : cases("regex")) {
    const unsigned flags = (c["ignore_case"] ? PythonRegex::ignore_case : 0u) |
                           (c["multiline"] ? PythonRegex::multiline : 0u) |
                           (c["dot_all"] ? PythonRegex::dot_all : 0u);
    const PythonRegex regex(c["pattern"].get<std::string>(), flags);
    const std::string text = c["text"];
    json found = json::array();
    regex.each(text, [&](const PythonRegex::Match& match) {
      json groups = json::array();
      for (const auto span : match)
        groups.push_back(span.set() ? json{span.start, span.end} : json(nullptr));
      found.push_back(groups);
    });
    EXPECT_EQ(found, c["matches"]) << c;
    EXPECT_EQ(regex.replace(text, ""), c["without"].get<std::string>()) << c;
    EXPECT_EQ(regex.search(text), !c["matches"].empty()) << c;
  }
}

TEST(AnswerOracle, BadPatternsAreRefused) {
  for (const auto& c : cases("bad")) {
    const std::string pattern = c["pattern"];
    const Error e = test::error_from([&] { PythonRegex{pattern}; });
    EXPECT_EQ(e.fault(), Fault::user) << pattern;
    EXPECT_NE(e.message().find("pattern '" + pattern + "'"), std::string::npos) << e.message();
  }
}

TEST(AnswerOracle, Filters) {
  for (const auto& c : cases("filter")) {
    FilterPipeline pipeline{"f", {}};
    for (const auto& function : c["functions"])
      pipeline.steps.push_back({function, c["regex_pattern"], c["group_select"], c["fallback"]});
    EXPECT_EQ(AnswerFilter(pipeline).apply(c["replies"]).front(), c["want"].get<std::string>())
        << c;
  }
}

TEST(AnswerOracle, ExactMatch) {
  int equal = 0;
  for (const auto& c : cases("match")) {
    ExactMatchOptions options;
    options.ignore_case = c["ignore_case"];
    options.ignore_punctuation = c["ignore_punctuation"];
    options.ignore_numbers = c["ignore_numbers"];
    if (!c["regexes_to_ignore"].is_null()) options.regexes_to_ignore = c["regexes_to_ignore"];
    const double ours = ExactMatch(options).score(c["prediction"].get<std::string>(), c["golds"]);
    EXPECT_EQ(ours, c["want"].get<double>()) << c;
    equal += ours == 1;
  }
  EXPECT_GT(equal, 0);
}

}  // namespace
}  // namespace cupel::eval
