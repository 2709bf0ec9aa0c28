// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "eval/estimate.h"
#include "eval/stats/distributions.h"
#include "eval/stats/python_random.h"

namespace cupel::eval {
namespace {

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double sample_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double center = mean(values);
  double squares = 0;
  for (const double v : values) squares += (v - center) * (v - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double without_one(double sum, double value, std::size_t count) {
  return (sum - value) / static_cast<double>(count - 1);
}

/// The sum of cubes over the sum of squares' power 3/2, of how far each document moves the
/// statistic.
double acceleration(std::span<const double> jackknife) {
  const double center = mean(jackknife);
  double squares = 0, cubes = 0;
  for (const double v : jackknife) {
    squares += (center - v) * (center - v);
    cubes += (center - v) * (center - v) * (center - v);
  }
  return squares > 0 ? cubes / (6 * squares * std::sqrt(squares)) : 0;
}

std::vector<double> replicates_of(std::span<const double> values, const Statistic& statistic,
                                  const BootstrapOptions& options) {
  CUPEL_CHECK(values.size() >= 2, user, "a bootstrap of ", values.size(),
              " documents: at least 2 are needed");
  CUPEL_CHECK(options.resamples > 0, user, "a bootstrap of ", options.resamples, " resamples");
  Rng rng(options.seed, "bootstrap");
  std::vector<double> drawn(values.size()), out(static_cast<std::size_t>(options.resamples));
  for (double& replicate : out) {
    for (double& v : drawn) v = values[rng.below(values.size())];
    replicate = statistic(drawn);
  }
  return out;
}

}  // namespace

void check_confidence(double confidence) {
  CUPEL_CHECK(confidence > 0 && confidence < 1, user, "confidence ", confidence,
              ": a share between 0 and 1 is expected, such as 0.95");
}

Bootstrap::Bootstrap(double estimate, std::vector<double> replicates,
                     std::span<const double> jackknife)
    : estimate_(estimate), sorted_(std::move(replicates)) {
  CUPEL_CHECK(!sorted_.empty(), user, "a bootstrap without replicates");
  const auto finite = [](double v) { return std::isfinite(v); };
  CUPEL_CHECK(std::isfinite(estimate) && std::all_of(sorted_.begin(), sorted_.end(), finite) &&
                  std::all_of(jackknife.begin(), jackknife.end(), finite),
              data, "a bootstrap replicate is not a finite number; look at the documents' scores");
  std::sort(sorted_.begin(), sorted_.end());
  if (!jackknife.empty()) acceleration_ = acceleration(jackknife);
}

double Bootstrap::error() const {
  return sample_deviation(sorted_);
}

Interval Bootstrap::percentile(double confidence) const {
  check_confidence(confidence);
  const double tail = (1 - confidence) / 2;
  return {quantile(sorted_, tail), quantile(sorted_, 1 - tail)};
}

/// Normal quantile of the estimate's place among the replicates.
double Bootstrap::bias() const {
  const auto [first, last] = std::equal_range(sorted_.begin(), sorted_.end(), estimate_);
  const auto below = static_cast<double>(first - sorted_.begin());
  const auto at_most = static_cast<double>(last - sorted_.begin());
  const double share = (below + at_most) / 2 / static_cast<double>(sorted_.size());
  CUPEL_CHECK(share > 0 && share < 1, user, "every bootstrap replicate lies on one side of ",
              estimate_, ": there is no BCa interval for this statistic");
  return normal_quantile(share);
}

double Bootstrap::share_at(double z, double bias) const {
  const double moved = bias + z;
  return normal_cdf(bias + moved / (1 - acceleration_ * moved));
}

Interval Bootstrap::bca(double confidence) const {
  check_confidence(confidence);
  const double z = normal_quantile((1 - confidence) / 2), b = bias();
  return {quantile(sorted_, share_at(z, b)), quantile(sorted_, share_at(-z, b))};
}

/// The level at which the one-sided BCa bound reaches a place that has `share` of the replicates on
/// its far side: share_at, solved for z.
double Bootstrap::level_at(double share, double side) const {
  if (share >= 1) return 1;
  const double b = side * bias(), moved = normal_quantile(share) - b;
  const double scale = std::max(1 + side * acceleration_ * moved, 1e-9);
  const double least = 1 / (static_cast<double>(sorted_.size()) + 1);
  return std::max(normal_cdf(moved / scale - b), least);
}

double Bootstrap::p_at_most(double value) const {
  const auto last = std::upper_bound(sorted_.begin(), sorted_.end(), value);
  const auto all = static_cast<double>(sorted_.size());
  return level_at((static_cast<double>(last - sorted_.begin()) + 1) / (all + 1), 1);
}

double Bootstrap::p_at_least(double value) const {
  const auto first = std::lower_bound(sorted_.begin(), sorted_.end(), value);
  const auto all = static_cast<double>(sorted_.size());
  return level_at((static_cast<double>(sorted_.end() - first) + 1) / (all + 1), -1);
}

Bootstrap bootstrap(std::span<const double> values, const Statistic& statistic,
                    const BootstrapOptions& options) {
  std::vector<double> replicates = replicates_of(values, statistic, options);
  std::vector<double> rest(values.begin() + 1, values.end()), jackknife;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) rest[i - 1] = values[i - 1];  // now without document i
    jackknife.push_back(statistic(rest));
  }
  return {statistic(values), std::move(replicates), jackknife};
}

Bootstrap bootstrap_mean(std::span<const double> values, const BootstrapOptions& options) {
  std::vector<double> replicates = replicates_of(values, mean, options), jackknife;
  const double sum = mean(values) * static_cast<double>(values.size());
  for (const double v : values) jackknife.push_back(without_one(sum, v, values.size()));
  return {mean(values), std::move(replicates), jackknife};
}

Bootstrap bootstrap_mean_difference(std::span<const double> reference,
                                    std::span<const double> model,
                                    const BootstrapOptions& options) {
  CUPEL_CHECK(reference.size() == model.size(), user, "the reference has ", reference.size(),
              " documents, the model ", model.size(), "; a comparison needs the same ones");
  std::vector<double> differences(model.begin(), model.end());
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= reference[i];
  return bootstrap_mean(differences, options);
}

double lm_eval_bootstrap_error(std::span<const double> values, const Statistic& statistic,
                               int64_t draws) {
  CUPEL_CHECK(!values.empty() && draws > 1, user, "a bootstrap of ", values.size(),
              " documents with ", draws, " draws");
  const int64_t chunk = std::min<int64_t>(draws, 1000), n = static_cast<int64_t>(values.size());
  std::vector<int64_t> indexes(values.size());
  std::vector<double> drawn(values.size()), replicates;
  for (int64_t c = 0; c < draws / chunk; ++c) {
    PythonRandom random(static_cast<uint64_t>(c));
    for (int64_t i = 0; i < chunk; ++i) {
      random.choose(n, indexes);
      for (std::size_t d = 0; d < drawn.size(); ++d)
        drawn[d] = values[static_cast<std::size_t>(indexes[d])];
      replicates.push_back(statistic(drawn));
    }
  }
  return sample_deviation(replicates);
}

double perplexity_bootstrap_error(std::span<const double> log_probs) {
  return lm_eval_bootstrap_error(log_probs,
                                 [](std::span<const double> x) { return std::exp(-mean(x)); });
}

}  // namespace cupel::eval
