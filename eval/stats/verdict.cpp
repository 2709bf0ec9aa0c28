// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/verdict.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "eval/estimate.h"
#include "eval/stats/distributions.h"
#include "eval/stats/mcnemar.h"
#include "eval/stats/multiplicity.h"
#include "eval/stats/paired_score.h"
#include "eval/stats/verdict_text.h"

namespace cupel::eval {
namespace {

// A bootstrap of so few changes knows too little of the ones that it has not seen.
constexpr int64_t kFewChanges = 20;
constexpr double kPower = 0.8;
constexpr double kMostDocuments = 1e15;  // what a tiny margin asks for still fits in 64 bits

void check(const PairedScores& t) {
  CUPEL_CHECK(t.reference.size() == t.model.size(), user, "the reference has ", t.reference.size(),
              " documents, the model ", t.model.size(), "; a comparison needs the same ones");
  CUPEL_CHECK(t.reference.size() >= 2, user, t.reference.size(),
              " documents: a comparison needs at least 2");
  CUPEL_CHECK(t.range > 0, user, "the range of a score must be positive, not ", t.range);
  for (std::size_t i = 0; i < t.model.size(); ++i)
    CUPEL_CHECK(std::isfinite(t.reference[i]) && std::isfinite(t.model[i]), data, "document ", i,
                " has a score that is not a finite number");
}

bool is_right_or_wrong(const std::vector<double>& scores) {
  return std::all_of(scores.begin(), scores.end(), [](double s) { return s == 0 || s == 1; });
}

void judge_by_score(TaskVerdict& v, const PairedScores& t, const VerdictOptions& options) {
  const PairCounts counts = count_pairs(t.reference, t.model);
  v.method = PairedMethod::score;
  v.interval = paired_loss_interval(counts, options.confidence);
  v.p_difference = mcnemar_exact(counts.reference_only, counts.model_only);
  v.p_margin = options.margin < 1 ? normal_cdf(paired_score_z(counts, options.margin)) : 0;
}

/// The mean loss is at most the share of documents that get worse times the range.
void judge_by_sign(TaskVerdict& v, const PairedScores& t, const VerdictOptions& options) {
  const double tail = (1 - options.confidence) / 2, share = std::min(options.margin / t.range, 1.0);
  v.method = PairedMethod::sign;
  v.interval = {-t.range * binomial_upper_bound(v.better, v.documents, tail),
                t.range * binomial_upper_bound(v.worse, v.documents, tail)};
  v.p_difference = mcnemar_exact(v.worse, v.better);
  v.p_margin = binomial_cdf(v.worse, v.documents, share);
}

void judge_by_bootstrap(TaskVerdict& v, const PairedScores& t, const VerdictOptions& options) {
  const Bootstrap loss =
      bootstrap_mean_difference(t.model, t.reference, {options.resamples, options.seed});
  v.method = PairedMethod::bootstrap;
  v.interval = loss.bca(options.confidence);
  v.p_difference = std::min(1.0, 2 * std::min(loss.p_at_most(0), loss.p_at_least(0)));
  v.p_margin = loss.p_at_least(options.margin);
}

TaskVerdict measure(const PairedScores& t, const VerdictOptions& options) {
  check(t);
  TaskVerdict v;
  v.task = t.task;
  v.metric = t.metric;
  v.documents = static_cast<int64_t>(t.model.size());
  for (std::size_t i = 0; i < t.model.size(); ++i) {
    v.worse += t.model[i] < t.reference[i];
    v.better += t.model[i] > t.reference[i];
  }
  v.reference_score = mean_of(t.reference).value;
  v.model_score = mean_of(t.model).value;
  v.loss = v.reference_score - v.model_score;
  if (is_right_or_wrong(t.reference) && is_right_or_wrong(t.model))
    judge_by_score(v, t, options);
  else if (v.worse + v.better < kFewChanges)
    judge_by_sign(v, t, options);
  else
    judge_by_bootstrap(v, t, options);
  return v;
}

Verdict decide(const TaskVerdict& v, const VerdictOptions& options) {
  const double error = 1 - options.confidence;
  const bool differs = v.p_difference_holm <= error, within = v.p_margin_holm <= error / 2;
  if (differs && v.loss < 0) return Verdict::gain;
  if (differs && v.loss > 0) return within ? Verdict::small_loss : Verdict::loss;
  return within ? Verdict::no_loss : Verdict::undecided;
}

/// Documents for which the loss as seen would be told from 0 or from the margin, in the smaller of
/// the two numbers; not fewer than decide when no document changes.
int64_t documents_needed(const TaskVerdict& v, const PairedScores& t, const VerdictOptions& options,
                         std::size_t tasks) {
  const double tail = (1 - options.confidence) / 2 / static_cast<double>(tasks);
  const double z = -normal_quantile(tail), reach = z + normal_quantile(kPower);
  double squares = 0;
  for (std::size_t i = 0; i < t.model.size(); ++i) {
    const double rest = t.reference[i] - t.model[i] - v.loss;
    squares += rest * rest;
  }
  const double variance = squares / static_cast<double>(v.documents - 1);
  const double distance = std::max(std::abs(v.loss), options.margin - v.loss);
  const double share = std::min(options.margin / t.range, 0.5);
  const double unchanged = v.method == PairedMethod::score ? z * z * (1 - share) / share
                                                           : std::log(tail) / std::log1p(-share);
  const double needed = std::max(reach * reach * variance / (distance * distance), unchanged);
  return std::max(static_cast<int64_t>(std::ceil(std::min(needed, kMostDocuments))),
                  v.documents + 1);
}

}  // namespace

std::vector<TaskVerdict> judge_tasks(const std::vector<PairedScores>& tasks,
                                     const VerdictOptions& options) {
  CUPEL_CHECK(options.margin > 0, user, "the margin of a loss must be positive, not ",
              options.margin);
  check_confidence(options.confidence);
  std::vector<TaskVerdict> out;
  std::vector<double> difference, margin;
  for (const PairedScores& t : tasks) {
    out.push_back(
        in_frame(cat("comparing ", t.metric, " of ", t.task), [&] { return measure(t, options); }));
    difference.push_back(out.back().p_difference);
    margin.push_back(out.back().p_margin);
  }
  difference = holm(difference);
  margin = holm(margin);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].p_difference_holm = difference[i];
    out[i].p_margin_holm = margin[i];
    out[i].verdict = decide(out[i], options);
    if (out[i].verdict == Verdict::undecided)
      out[i].documents_needed = documents_needed(out[i], tasks[i], options, tasks.size());
    out[i].text = verdict_text(out[i], options);
  }
  return out;
}

}  // namespace cupel::eval
