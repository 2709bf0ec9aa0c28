// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/mcnemar.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "eval/stats/distributions.h"

namespace cupel::eval {
namespace {

bool is_right(double score, std::size_t document) {
  CUPEL_CHECK(score == 0 || score == 1, data, "document ", document, " has the score ", score,
              "; right and wrong answers are 1 and 0");
  return score == 1;
}

void check_counts(int64_t reference_only, int64_t model_only) {
  CUPEL_CHECK(reference_only >= 0 && model_only >= 0, internal, "McNemar's test of ",
              reference_only, " against ", model_only, " documents");
}

}  // namespace

PairCounts count_pairs(std::span<const double> reference, std::span<const double> model) {
  CUPEL_CHECK(reference.size() == model.size(), user, "the reference has ", reference.size(),
              " documents, the model ", model.size(), "; a comparison needs the same ones");
  PairCounts counts;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const bool before = is_right(reference[i], i), after = is_right(model[i], i);
    ++(before ? (after ? counts.both : counts.reference_only)
              : (after ? counts.model_only : counts.neither));
  }
  return counts;
}

double mcnemar_exact(int64_t reference_only, int64_t model_only) {
  check_counts(reference_only, model_only);
  const int64_t fewer = std::min(reference_only, model_only);
  return std::min(1.0, 2 * binomial_cdf(fewer, reference_only + model_only, 0.5));
}

double mcnemar_chi2(int64_t reference_only, int64_t model_only, Continuity correction) {
  check_counts(reference_only, model_only);
  if (reference_only + model_only == 0) return 1;
  const double difference = std::abs(static_cast<double>(reference_only - model_only)) -
                            (correction == Continuity::edwards ? 1 : 0);
  const double kept = std::max(difference, 0.0);
  return chi2_sf(kept * kept / static_cast<double>(reference_only + model_only), 1);
}

}  // namespace cupel::eval
