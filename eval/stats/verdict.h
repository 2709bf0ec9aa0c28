// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "eval/stats/bootstrap.h"

namespace cupel::eval {

/// Scores of the same documents in the same order, higher is better.
struct PairedScores {
  std::string task, metric;
  std::vector<double> reference, model;
  double range = 1;  ///< the most that a document's score can change
};

struct VerdictOptions {
  double margin = 0.01;  ///< loss of the mean score that would matter; 0.01 is one point
  double confidence = 0.95;
  int64_t resamples = 10'000;
  uint64_t seed = 0;
};

enum class Verdict {
  gain,        ///< better, and not by chance
  no_loss,     ///< no loss as large as the margin
  small_loss,  ///< worse, and not by chance, but by less than the margin
  loss,        ///< worse, and not by chance
  undecided    ///< too few documents
};
std::string_view verdict_name(Verdict verdict);

/// How a task was judged.
enum class PairedMethod {
  score,      ///< 0/1 scores: exact McNemar test, Tango's score interval
  bootstrap,  ///< other scores: BCa bootstrap of the mean difference
  sign        ///< fewer than 20 documents changed: sign test, exact bounds on how many change
};
std::string_view paired_method_name(PairedMethod method);

struct TaskVerdict {
  std::string task, metric;
  int64_t documents = 0, worse = 0, better = 0;
  double reference_score = 0, model_score = 0;  ///< means
  double loss = 0;                              ///< reference_score - model_score
  Interval interval;                            ///< of the loss, two-sided, for this task alone
  /// "No difference" (two-sided) and "a loss of the margin or more" (one-sided); then over all
  /// tasks by Holm's procedure.
  double p_difference = 1, p_margin = 1, p_difference_holm = 1, p_margin_holm = 1;
  PairedMethod method = PairedMethod::score;
  Verdict verdict = Verdict::undecided;
  int64_t documents_needed = 0;  ///< for 80 % power if the difference stays as seen; 0 if decided
  std::string text;              ///< "no loss larger than 1 point at 95 %"
};

/// Judges tasks together. With e = 1 - confidence: any false "loses" or "gains" among the tasks has
/// probability e at most, any false "no loss larger than" e / 2 (the two-sided interval's end);
/// nearly so by bootstrap (0.032 for 0.025 with 150 documents and skewed losses).
/// User errors: different numbers of documents, fewer than 2, a margin that is not positive; data
/// error: a score that is not finite.
std::vector<TaskVerdict> judge_tasks(const std::vector<PairedScores>& tasks,
                                     const VerdictOptions& options = {});

/// One sentence about all of them: "of 14 tasks, 11 show no loss larger than 1 point at 95 %; loses
/// 2.3 points on arc_easy; not decided: boolq, copa".
std::string verdict_summary(const std::vector<TaskVerdict>& verdicts,
                            const VerdictOptions& options = {});

}  // namespace cupel::eval
