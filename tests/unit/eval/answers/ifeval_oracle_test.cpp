// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// lm-eval's verdicts on made-up replies, written by tests/oracle/ifeval_cases.py.
// CUPEL_PUNKT_MODEL and CUPEL_LANGDETECT_PROFILES name the folders punkt_tab/english of nltk and
// langdetect/profiles: with them every verdict must be lm-eval's.
#include <cstdio>

#include "eval/answers/ifeval.h"
#include "tests/unit/eval/answers/support.h"

namespace cupel::eval {
namespace {

struct Agreement {
  int cases = 0, strict = 0, loose = 0, followed = 0;
  double share() const { return static_cast<double>(strict + loose) / (2.0 * cases); }
};

bool is_language(const std::string& id) {
  return id == "language:response_language" || id == "change_case:english_capital" ||
         id == "change_case:english_lowercase";
}

// By instruction; what differs from lm-eval's own models is printed. For the built-in models
// verdicts that depend on langdetect's seed do not count.
std::map<std::string, Agreement> agreement(const IfevalScorer& scorer, bool built_in) {
  std::map<std::string, Agreement> out;
  for (const auto& c : test::oracle_cases("ifeval_cases.jsonl", "CUPEL_IFEVAL_CASES")) {
    const auto document = read_ifeval_document(c.dump());
    const auto ours = scorer.score(document, c["reply"]);
    for (std::size_t i = 0; i < document.instructions.size(); ++i) {
      const std::string& id = document.instructions[i].id;
      if (built_in && is_language(id) && !c["stable"].get<bool>()) continue;
      const bool strict = c["strict"][i], loose = c["loose"][i];
      Agreement& a = out[id];
      ++a.cases;
      a.strict += ours.strict[i] == strict;
      a.loose += ours.loose[i] == loose;
      a.followed += strict;
      if (!built_in && (ours.strict[i] != strict || ours.loose[i] != loose))
        std::printf("%s: lm-eval %d %d, here %d %d: %s\n", id.c_str(), strict, loose,
                    static_cast<int>(ours.strict[i]), static_cast<int>(ours.loose[i]),
                    c.dump().c_str());
    }
  }
  return out;
}

void print_table(const std::map<std::string, Agreement>& table) {
  for (const auto& [id, a] : table)
    std::printf("%-46s %4d cases, %4d followed, agree strict %4d loose %4d\n", id.c_str(), a.cases,
                a.followed, a.strict, a.loose);
}

TEST(IfevalOracle, BuiltInModels) {
  // Decided by other packages' models in lm-eval; the least agreement that is asked for.
  const std::map<std::string, double> models = {{"length_constraints:number_sentences", 0.97},
                                                {"change_case:capital_word_frequency", 0.99},
                                                {"language:response_language", 0.95},
                                                {"change_case:english_lowercase", 0.9},
                                                {"change_case:english_capital", 0.8}};
  const auto table = agreement(IfevalScorer(), true);
  print_table(table);
  EXPECT_EQ(table.size(), 25u);
  for (const auto& [id, a] : table) {
    const auto model = models.find(id);
    EXPECT_GE(a.share(), model == models.end() ? 1 : model->second) << id;
    EXPECT_GT(a.followed, 0) << id;
    EXPECT_LT(a.followed, a.cases) << id;
  }
}

TEST(IfevalOracle, WithTheModelsOfLmEval) {
  const char* punkt = std::getenv("CUPEL_PUNKT_MODEL");
  const char* profiles = std::getenv("CUPEL_LANGDETECT_PROFILES");
  if (!punkt || !profiles)
    GTEST_SKIP() << "needs nltk's punkt_tab/english and langdetect's profiles (set "
                    "CUPEL_PUNKT_MODEL and CUPEL_LANGDETECT_PROFILES)";
  const auto table = agreement(IfevalScorer({punkt, profiles}), false);
  print_table(table);
  for (const auto& [id, a] : table) EXPECT_EQ(a.share(), 1) << id;
}

}  // namespace
}  // namespace cupel::eval
