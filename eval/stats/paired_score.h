// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "eval/stats/bootstrap.h"
#include "eval/stats/mcnemar.h"

namespace cupel::eval {

/// Score test and interval of the difference of two shares on the same documents (Tango, Statistics
/// in Medicine 1998): McNemar's statistic when the difference is 0, and an interval that stays
/// honest when no document differs, where a bootstrap has no width. The loss is
/// P(reference right, model wrong) - P(model right, reference wrong), between -1 and 1.

/// Standard normal when the true loss is `loss`; positive where more was lost.
double paired_score_z(const PairCounts& counts, double loss);
/// The losses whose score lies within the two-sided normal quantile. No document is a user error.
Interval paired_loss_interval(const PairCounts& counts, double confidence);

}  // namespace cupel::eval
