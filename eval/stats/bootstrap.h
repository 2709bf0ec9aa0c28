// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace cupel::eval {

struct Interval {
  double low = 0, high = 0;
};
/// A confidence outside (0, 1) is a user error.
void check_confidence(double confidence);

/// A number of a sample of documents' scores.
using Statistic = std::function<double(std::span<const double>)>;

/// What bootstrap replicates of a statistic say about it: Efron's percentile and BCa intervals
/// ("Better bootstrap confidence intervals", JASA 1987), computed as scipy.stats.bootstrap does.
class Bootstrap {
 public:
  /// `jackknife`: the statistic without each document in turn. No replicate is a user error, a
  /// value that is not finite a data error.
  Bootstrap(double estimate, std::vector<double> replicates, std::span<const double> jackknife);

  double estimate() const { return estimate_; }
  /// Standard error: sample standard deviation of the replicates.
  double error() const;
  /// Two-sided; `confidence` in (0, 1).
  Interval percentile(double confidence) const;
  /// Corrected for bias and skewness. With every replicate on one side of the estimate (a maximum)
  /// there is no such interval: a user error.
  Interval bca(double confidence) const;
  /// One-sided p values of "the true value is at most (at least) `value`", the levels at which the
  /// BCa bound passes it; never below 1 / (replicates + 1).
  double p_at_most(double value) const;
  double p_at_least(double value) const;

 private:
  double bias() const;
  double share_at(double z, double bias) const;
  double level_at(double share, double side) const;
  double estimate_;
  std::vector<double> sorted_;
  double acceleration_ = 0;
};

struct BootstrapOptions {
  int64_t resamples = 10'000;
  uint64_t seed = 0;  ///< the same seed gives the same replicates on every machine
};

/// Any statistic; n + resamples + 1 evaluations. Fewer than two values are a user error.
Bootstrap bootstrap(std::span<const double> values, const Statistic& statistic,
                    const BootstrapOptions& options = {});
Bootstrap bootstrap_mean(std::span<const double> values, const BootstrapOptions& options = {});
/// Mean of model - reference, documents drawn in pairs. A different number of documents is a user
/// error.
Bootstrap bootstrap_mean_difference(std::span<const double> reference,
                                    std::span<const double> model,
                                    const BootstrapOptions& options = {});

/// lm-eval 0.4.13's bootstrap standard error (api/metrics.py), draw for draw: `draws` replicates in
/// chunks of 1000, chunk i from Python's Random(i).
double lm_eval_bootstrap_error(std::span<const double> values, const Statistic& statistic,
                               int64_t draws = 100'000);
/// The same of exp(-mean(log_probs)), as for lambada_openai.
double perplexity_bootstrap_error(std::span<const double> log_probs);

}  // namespace cupel::eval
