// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/paired_score.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "eval/stats/distributions.h"

namespace cupel::eval {
namespace {

/// Where the score, which falls with the loss, passes `z`.
double crossing(const PairCounts& counts, double z, double low, double high) {
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (paired_score_z(counts, middle) > z ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double paired_score_z(const PairCounts& counts, double loss) {
  const auto n = static_cast<double>(counts.documents());
  const auto lost = static_cast<double>(counts.reference_only);
  const auto won = static_cast<double>(counts.model_only);
  // Most likely share of `won` under this loss: the root of a p^2 + b p + c.
  const double a = 2 * n, b = (2 * n - lost + won) * loss - lost - won,
               c = -won * loss * (1 - loss);
  const double share = (std::sqrt(std::max(b * b - 4 * a * c, 0.0)) - b) / (2 * a);
  const double variance = n * (2 * share + loss * (1 - loss)), excess = lost - won - n * loss;
  if (variance > 0) return excess / std::sqrt(variance);
  return excess == 0 ? 0 : std::copysign(HUGE_VAL, excess);
}

Interval paired_loss_interval(const PairCounts& counts, double confidence) {
  CUPEL_CHECK(counts.documents() > 0, user, "an interval from no documents");
  check_confidence(confidence);
  const double z = -normal_quantile((1 - confidence) / 2);
  const double seen = static_cast<double>(counts.reference_only - counts.model_only) /
                      static_cast<double>(counts.documents());
  return {crossing(counts, z, -1, seen), crossing(counts, -z, seen, 1)};
}

}  // namespace cupel::eval
