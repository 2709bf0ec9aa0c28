// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::eval {

/// Redline: the choice of an operating point (a compressed version, a threshold) under a bound on
/// its reference-relative risk, the probability that the reference answers a prompt correctly and
/// the candidate does not. Answers that a candidate wins elsewhere do not make up for those that it
/// loses, as they do in a mean accuracy. With probability 1 - delta over the calibration prompts no
/// admitted candidate has a risk above the budget, whatever the number of prompts.
/// Source of the rule: the abstract of "Redline" (code at github.com/js-lee-AI/Redline); exact
/// binomial p values and family-wise control as in Angelopoulos et al., "Learn then test" (2021).
/// The calibration prompts must be new: none that compression, tuning or the order below has seen.

struct RedlineCandidate {
  std::string name;
  double speed = 0;  ///< the largest admitted one is chosen: tokens a second, or minus bytes
  int64_t prompts = 0, failures = 0;  ///< failures: the reference is right, the candidate wrong
};
/// Counts from answers of 1 (right) and 0; errors as count_pairs.
RedlineCandidate redline_candidate(std::string name, double speed,
                                   std::span<const double> reference,
                                   std::span<const double> candidate);

/// How the choice among several candidates is paid for.
enum class RiskControl {
  fixed_sequence,  ///< in the order given, safest first and fixed beforehand, each at delta, until
                   ///< one fails: best where speed and risk rise together
  holm,            ///< any order, from delta / m upwards
  bonferroni       ///< any order, each at delta / m
};
std::string_view risk_control_name(RiskControl control);

struct RedlineOptions {
  double budget = 0.05;  ///< risk that is allowed
  double delta = 0.05;   ///< probability that an admitted candidate's risk is above it
  RiskControl control = RiskControl::fixed_sequence;
};

enum class Admission { admitted, refused, not_tested };
std::string_view admission_name(Admission admission);

struct RedlineRow {
  RedlineCandidate candidate;
  double risk = 0;     ///< failures / prompts
  double level = 0;    ///< error probability that this candidate's test was given
  double bound = 0;    ///< Clopper-Pearson upper bound of the risk at that level
  double p_value = 1;  ///< P(Binomial(prompts, budget) <= failures): of "the risk is above budget"
  Admission admission = Admission::not_tested;
};

struct RedlineResult {
  RedlineOptions options;
  std::vector<RedlineRow> rows;       ///< in the order given
  std::optional<std::size_t> chosen;  ///< row; none: keep the reference
  std::string text;                   ///< one sentence
};

/// User errors: budget or delta outside (0, 1), no prompts, more failures than prompts, a speed
/// that is not a number.
RedlineResult redline(const std::vector<RedlineCandidate>& candidates,
                      const RedlineOptions& options = {});

}  // namespace cupel::eval
