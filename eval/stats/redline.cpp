// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/redline.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "eval/stats/distributions.h"
#include "eval/stats/mcnemar.h"
#include "eval/stats/verdict_text.h"

namespace cupel::eval {
namespace {

void check(const RedlineCandidate& c) {
  CUPEL_CHECK(c.prompts > 0, user, "candidate '", c.name, "' has no calibration prompts");
  CUPEL_CHECK(c.failures >= 0 && c.failures <= c.prompts, user, "candidate '", c.name, "' has ",
              c.failures, " failures on ", c.prompts, " prompts");
  CUPEL_CHECK(!std::isnan(c.speed), user, "candidate '", c.name, "' has no speed");
}

/// Order in which the candidates are tested.
std::vector<std::size_t> sequence(const RedlineResult& r) {
  std::vector<std::size_t> order(r.rows.size());
  std::iota(order.begin(), order.end(), 0);
  if (r.options.control == RiskControl::holm)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return r.rows[a].p_value < r.rows[b].p_value;
    });
  return order;
}

/// Error probability of test number `index` (from 0) of `tests`.
double level(const RedlineOptions& options, std::size_t index, std::size_t tests) {
  switch (options.control) {
    case RiskControl::fixed_sequence:
      return options.delta;
    case RiskControl::holm:
      return options.delta / static_cast<double>(tests - index);
    case RiskControl::bonferroni:
      return options.delta / static_cast<double>(tests);
  }
  fail(Fault::internal, "a risk control without a level");
}

void test_in_turn(RedlineResult& r) {
  bool stopped = false;
  const auto order = sequence(r);
  for (std::size_t i = 0; i < order.size(); ++i) {
    RedlineRow& row = r.rows[order[i]];
    row.level = level(r.options, i, order.size());
    row.bound = binomial_upper_bound(row.candidate.failures, row.candidate.prompts, row.level);
    if (stopped) continue;
    row.admission = row.p_value <= row.level ? Admission::admitted : Admission::refused;
    stopped = r.options.control != RiskControl::bonferroni && row.admission == Admission::refused;
  }
}

std::optional<std::size_t> fastest_admitted(const std::vector<RedlineRow>& rows) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].admission == Admission::admitted &&
        (!best || rows[i].candidate.speed > rows[*best].candidate.speed))
      best = i;
  return best;
}

/// Prompts without which not even a candidate that never fails is admitted.
int64_t least_prompts(const RedlineOptions& options, std::size_t tests) {
  const double least = std::log(level(options, 0, tests)) / std::log1p(-options.budget);
  return static_cast<int64_t>(std::ceil(std::min(least, 1e15)));  // fits for the tiniest budget
}

std::string sentence(const RedlineResult& r) {
  const RedlineOptions& o = r.options;
  if (r.rows.empty()) return "no candidate: keep the reference";
  if (r.chosen) {
    const RedlineRow& row = r.rows[*r.chosen];
    return cat(row.candidate.name, ": at confidence ", percent_text(1 - o.delta),
               " it is wrong where the reference is right on at most ", percent_text(o.budget),
               " of prompts (", row.candidate.failures, " of ", row.candidate.prompts, ", bound ",
               fixed(100 * row.bound, 2), " %; ", risk_control_name(o.control), ")");
  }
  int64_t most = 0;
  for (const RedlineRow& row : r.rows) most = std::max(most, row.candidate.prompts);
  const int64_t least = least_prompts(o, r.rows.size());
  return cat("none passes: keep the reference (budget ", percent_text(o.budget), " at confidence ",
             percent_text(1 - o.delta), "; ", risk_control_name(o.control),
             most < least
                 ? cat("; ", most, " prompts can't admit any, at least ", least, " are needed")
                 : "",
             ")");
}

}  // namespace

std::string_view risk_control_name(RiskControl control) {
  switch (control) {
    case RiskControl::fixed_sequence:
      return "fixed sequence";
    case RiskControl::holm:
      return "Holm";
    case RiskControl::bonferroni:
      return "Bonferroni";
  }
  fail(Fault::internal, "a risk control without a name");
}

std::string_view admission_name(Admission admission) {
  switch (admission) {
    case Admission::admitted:
      return "admitted";
    case Admission::refused:
      return "refused";
    case Admission::not_tested:
      return "not tested";
  }
  fail(Fault::internal, "an admission without a name");
}

RedlineCandidate redline_candidate(std::string name, double speed,
                                   std::span<const double> reference,
                                   std::span<const double> candidate) {
  const PairCounts counts = in_frame("counting the answers of " + name,
                                     [&] { return count_pairs(reference, candidate); });
  return {std::move(name), speed, counts.documents(), counts.reference_only};
}

RedlineResult redline(const std::vector<RedlineCandidate>& candidates,
                      const RedlineOptions& options) {
  CUPEL_CHECK(options.budget > 0 && options.budget < 1, user, "risk budget ", options.budget,
              ": a share between 0 and 1 is expected, such as 0.05");
  CUPEL_CHECK(options.delta > 0 && options.delta < 1, user, "failure probability ", options.delta,
              ": a share between 0 and 1 is expected, such as 0.05");
  RedlineResult r{options, {}, {}, ""};
  for (const RedlineCandidate& c : candidates) {
    check(c);
    RedlineRow row{c};
    row.risk = static_cast<double>(c.failures) / static_cast<double>(c.prompts);
    row.p_value = binomial_cdf(c.failures, c.prompts, options.budget);
    r.rows.push_back(std::move(row));
  }
  test_in_turn(r);
  r.chosen = fastest_admitted(r.rows);
  r.text = sentence(r);
  return r;
}

}  // namespace cupel::eval
