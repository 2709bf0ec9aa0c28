// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/harness/prompt.h"

namespace cupel::eval {

/// How the scores of rows become one number.
enum class Aggregation {
  mean,        ///< standard error: sample deviation / sqrt(n)
  perplexity,  ///< exp(-mean); standard error by bootstrap (lm-eval's draws)
  pooled_mean  ///< of all parts of all rows (IFEval's instructions); no standard error
};

/// What a model said about one row.
struct Evidence {
  const Question* question = nullptr;
  std::vector<double> log_probs;      ///< one a choice, nats
  std::vector<bool> greedy;           ///< the same
  std::vector<double> unconditional;  ///< of the choices after nothing, for acc_mutual_info
};

/// A metric over probabilities. `key` is the name in results (lm-eval calls the mass on right
/// answers of truthfulqa_mc2 "acc").
struct ChoiceMetric {
  std::string_view name, key;
  Aggregation aggregation;
  bool higher_is_better;
  bool needs_unconditional;
  double (*score)(const Evidence&);
};

/// acc, acc_norm (by Unicode characters), acc_bytes, acc_mutual_info, exact_match, brier_score,
/// probability_mass, perplexity. Ties go to the lowest index. Null if there is none of that name.
const ChoiceMetric* find_choice_metric(std::string_view name);
std::string choice_metric_names();

struct MetricValue {
  double value = 0;
  std::optional<double> error;  ///< standard error; none where the rule gives none
};
/// Scores of rows, in order. A single row has no standard error. `parts`: how many things each
/// score is the mean of, for pooled_mean.
MetricValue aggregate(Aggregation how, std::span<const double> scores,
                      std::span<const double> parts = {});

/// Size-weighted mean of subtasks and its standard error, as lm-eval pools them:
/// sqrt(sum (n_i - 1) se_i^2 n_i / (sum n_i - k) / sum n_i).
MetricValue pool(std::span<const MetricValue> parts, std::span<const int64_t> sizes);

}  // namespace cupel::eval
