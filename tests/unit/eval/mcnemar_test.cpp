// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/mcnemar.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "eval/stats/multiplicity.h"
#include "tests/unit/eval/stats_comparison_oracle.h"

namespace cupel::eval {
namespace {

namespace oracle = test::oracle;
using Values = std::vector<double>;

TEST(Mcnemar, EqualsStatsmodels) {
  for (const auto& v : oracle::mcnemar_values) {
    SCOPED_TRACE(v.reference_only);
    EXPECT_NEAR(mcnemar_exact(v.reference_only, v.model_only), v.exact, 1e-12 * v.exact);
    EXPECT_NEAR(mcnemar_chi2(v.reference_only, v.model_only, Continuity::none), v.plain,
                1e-12 * v.plain);
    EXPECT_NEAR(mcnemar_chi2(v.reference_only, v.model_only, Continuity::edwards), v.corrected,
                1e-12 * v.corrected);
  }
}

TEST(Mcnemar, NothingDiffers) {
  EXPECT_EQ(mcnemar_exact(0, 0), 1);
  EXPECT_EQ(mcnemar_chi2(0, 0, Continuity::none), 1);
  EXPECT_EQ(mcnemar_chi2(4, 4, Continuity::edwards), 1);
  EXPECT_THROW(mcnemar_exact(-1, 2), Error);
}

TEST(Mcnemar, CountsPairs) {
  const PairCounts c = count_pairs(Values{1, 1, 1, 0, 0, 0, 0}, Values{1, 0, 0, 1, 0, 0, 0});
  EXPECT_EQ(c.both, 1);
  EXPECT_EQ(c.reference_only, 2);
  EXPECT_EQ(c.model_only, 1);
  EXPECT_EQ(c.neither, 3);
  EXPECT_EQ(c.documents(), 7);
}

TEST(Mcnemar, NamesTheDocumentThatIsNeitherRightNorWrong) {
  try {
    count_pairs(Values{1, 0, 1}, Values{1, 0, 0.5});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::data);
    EXPECT_NE(e.message().find("document 2 has the score 0.5"), std::string::npos) << e.what();
  }
  EXPECT_THROW(count_pairs(Values{1}, Values{}), Error);
}

void expect_values(const Values& found, const Values& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-14) << i;
}

TEST(Multiplicity, EqualsStatsmodels) {
  expect_values(holm(oracle::p_values), oracle::holm_values);
  expect_values(hochberg(oracle::p_values), oracle::hochberg_values);
  expect_values(benjamini_hochberg(oracle::p_values), oracle::benjamini_hochberg_values);
}

TEST(Multiplicity, OneTestStaysAndNoneIsFine) {
  expect_values(holm(Values{0.03}), {0.03});
  expect_values(hochberg(Values{0.03}), {0.03});
  expect_values(benjamini_hochberg(Values{0.03}), {0.03});
  EXPECT_TRUE(holm({}).empty());
  EXPECT_THROW(holm(Values{0.5, 1.5}), Error);
  EXPECT_THROW(benjamini_hochberg(Values{-0.1}), Error);
}

}  // namespace
}  // namespace cupel::eval
