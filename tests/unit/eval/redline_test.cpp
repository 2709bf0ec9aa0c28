// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/redline.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace cupel::eval {
namespace {

using Values = std::vector<double>;

std::vector<Admission> admissions(const RedlineResult& r) {
  std::vector<Admission> out;
  for (const RedlineRow& row : r.rows) out.push_back(row.admission);
  return out;
}
constexpr Admission kIn = Admission::admitted, kOut = Admission::refused,
                    kNot = Admission::not_tested;

TEST(Redline, ExactBounds) {
  // Clopper and Pearson's: 0 of 300, 5 of 200 and 20 of 400 at 0.05; 5 of 200 at 0.0125.
  const auto bound = [](int64_t failures, int64_t prompts, double delta) {
    return redline({{"c", 1, prompts, failures}}, {0.05, delta}).rows[0].bound;
  };
  EXPECT_NEAR(bound(0, 300, 0.05), 0.0099361, 5e-8);
  EXPECT_NEAR(bound(5, 200, 0.05), 0.0518433, 5e-8);
  EXPECT_NEAR(bound(20, 400, 0.05), 0.0718286, 5e-8);
  EXPECT_NEAR(bound(5, 200, 0.0125), 0.0625959, 5e-8);
}

TEST(Redline, AdmittedExactlyWhenTheBoundIsWithinTheBudget) {
  for (int64_t failures = 0; failures <= 30; ++failures)
    for (const double delta : {0.01, 0.05, 0.2}) {
      const RedlineRow row = redline({{"c", 1, 300, failures}}, {0.05, delta}).rows[0];
      EXPECT_EQ(row.admission == kIn, row.bound <= 0.05) << failures << " at " << delta;
      EXPECT_DOUBLE_EQ(row.risk, static_cast<double>(failures) / 300);
    }
}

TEST(Redline, FixedSequenceStopsAtTheFirstFailure) {
  const std::vector<RedlineCandidate> c = {
      {"8 bit", 1.5, 400, 2}, {"4 bit", 2, 400, 9}, {"3 bit", 3, 400, 25}, {"2 bit", 4, 400, 0}};
  const RedlineResult r = redline(c);
  EXPECT_EQ(admissions(r), (std::vector{kIn, kIn, kOut, kNot}));
  ASSERT_TRUE(r.chosen);
  EXPECT_EQ(*r.chosen, 1u);
  EXPECT_EQ(r.text,
            "4 bit: at confidence 95 % it is wrong where the reference is right on at most 5 % of "
            "prompts (9 of 400, bound 3.89 %; fixed sequence)");
}

TEST(Redline, HolmAndBonferroniTakeAnyOrder) {
  // p of 5, 9, 10, 12 of 400 at 0.05: 0.00005, 0.0042, 0.0094, 0.0355.
  const std::vector<RedlineCandidate> c = {{"a", 1, 400, 30}, {"b", 4, 400, 12}, {"c", 2, 400, 9},
                                           {"d", 6, 400, 10}, {"e", 5, 400, 5},  {"f", 7, 400, 40}};
  const RedlineResult b = redline(c, {0.05, 0.05, RiskControl::bonferroni});
  EXPECT_EQ(admissions(b), (std::vector{kOut, kOut, kIn, kOut, kIn, kOut}));
  EXPECT_EQ(b.rows[*b.chosen].candidate.name, "e");
  EXPECT_DOUBLE_EQ(b.rows[0].level, 0.05 / 6);
  const RedlineResult h = redline(c, {0.05, 0.05, RiskControl::holm});
  EXPECT_EQ(admissions(h), (std::vector{kNot, kOut, kIn, kIn, kIn, kNot}));
  EXPECT_EQ(h.rows[*h.chosen].candidate.name, "d");
  EXPECT_DOUBLE_EQ(h.rows[4].level, 0.05 / 6);
  EXPECT_DOUBLE_EQ(h.rows[2].level, 0.05 / 5);
  EXPECT_DOUBLE_EQ(h.rows[3].level, 0.05 / 4);
  EXPECT_DOUBLE_EQ(h.rows[1].level, 0.05 / 3);
}

TEST(Redline, FastestOfTheAdmittedIsNotAlwaysTheLast) {
  const RedlineResult r = redline({{"a", 1, 400, 0}, {"b", 3, 400, 1}, {"c", 2, 400, 2}});
  EXPECT_EQ(r.rows[*r.chosen].candidate.name, "b");
  // Size instead of speed.
  EXPECT_EQ(*redline({{"a", -300, 400, 0}, {"b", -200, 400, 1}}).chosen, 1u);
}

TEST(Redline, NonePasses) {
  const RedlineResult r = redline({{"a", 1, 400, 40}});
  EXPECT_FALSE(r.chosen);
  EXPECT_EQ(r.text,
            "none passes: keep the reference (budget 5 % at confidence 95 %; fixed sequence)");
  EXPECT_EQ(redline({{"a", 1, 58, 0}}).text,
            "none passes: keep the reference (budget 5 % at confidence 95 %; fixed sequence; 58 "
            "prompts can't admit any, at least 59 are needed)");
  EXPECT_TRUE(redline({{"a", 1, 59, 0}}).chosen);
  EXPECT_FALSE(redline({}).chosen);
  EXPECT_FALSE(redline({{"a", 1, 59, 0}}, {1e-300, 0.05}).chosen);
}

TEST(Redline, CountsJointFailuresOnly) {
  const Values reference = {1, 1, 1, 0, 0, 0};
  const RedlineCandidate c = redline_candidate("c", 2, reference, Values{1, 0, 1, 1, 1, 0});
  EXPECT_EQ(c.prompts, 6);
  EXPECT_EQ(c.failures, 1);
  EXPECT_THROW(redline_candidate("c", 2, reference, Values{1}), Error);
  EXPECT_THROW(redline_candidate("c", 2, reference, Values{1, 0, 1, 1, 1, 0.5}), Error);
}

TEST(Redline, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(redline({{"c", 1, 0, 0}}), Error);
  EXPECT_THROW(redline({{"c", 1, 5, 6}}), Error);
  EXPECT_THROW(redline({{"c", std::nan(""), 5, 1}}), Error);
  EXPECT_THROW(redline({{"c", 1, 5, 1}}, {0, 0.05}), Error);
  EXPECT_THROW(redline({{"c", 1, 5, 1}}, {0.05, 1}), Error);
}

}  // namespace
}  // namespace cupel::eval
