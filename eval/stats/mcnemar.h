// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>

namespace cupel::eval {

/// Pairs of right and wrong answers of a reference and a model on the same documents.
struct PairCounts {
  int64_t both = 0, reference_only = 0, model_only = 0, neither = 0;
  int64_t documents() const { return both + reference_only + model_only + neither; }
};

/// Scores must be 0 or 1 (data error) and as many on both sides (user error).
PairCounts count_pairs(std::span<const double> reference, std::span<const double> model);

/// McNemar's test (Psychometrika 1947) of "reference and model are right equally often"; only
/// documents on which they differ count. Two-sided p values, 1 when there are none.

/// Binomial with share 1/2, doubled and at most 1.
double mcnemar_exact(int64_t reference_only, int64_t model_only);

enum class Continuity { none, edwards };
/// Chi-squared with one degree of freedom; Edwards' correction takes 1 off the difference, not
/// below 0.
double mcnemar_chi2(int64_t reference_only, int64_t model_only, Continuity correction);

}  // namespace cupel::eval
