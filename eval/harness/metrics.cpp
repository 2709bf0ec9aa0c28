// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "eval/stats/bootstrap.h"
#include "text/jinja_value.h"

namespace cupel::eval {

namespace {

using Scores = std::vector<double>;

double is_best(const Scores& scores, int64_t gold) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin() == gold ? 1 : 0;
}

/// acc with each score divided by a length of its choice.
template <class Length>
double best_by(const Evidence& e, Length&& length) {
  Scores scaled = e.log_probs;
  for (std::size_t i = 0; i < scaled.size(); ++i)
    scaled[i] /= static_cast<double>(length(e.question->choices[i]));
  return is_best(scaled, e.question->gold);
}

double acc(const Evidence& e) {
  // loglikelihood tasks: was the one text the greedy continuation?
  if (e.question->gold < 0) return e.greedy.at(0) ? 1 : 0;
  return is_best(e.log_probs, e.question->gold);
}
double acc_norm(const Evidence& e) {
  return best_by(e, [](const std::string& s) { return text::jinja::characters(s).size(); });
}
double acc_bytes(const Evidence& e) {
  return best_by(e, [](const std::string& s) { return s.size(); });
}
double acc_mutual_info(const Evidence& e) {
  Scores gain = e.log_probs;
  for (std::size_t i = 0; i < gain.size(); ++i) gain[i] -= e.unconditional.at(i);
  return is_best(gain, e.question->gold);
}
double exact_match(const Evidence& e) {
  return e.greedy.at(static_cast<std::size_t>(std::max<int64_t>(0, e.question->gold))) ? 1 : 0;
}

Scores softmax(const Scores& logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  Scores out;
  for (const double x : logs) out.push_back(std::exp(x - largest));
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& p : out) p /= sum;
  return out;
}

double brier_score(const Evidence& e) {
  const Scores p = softmax(e.log_probs);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double wanted = static_cast<int64_t>(i) == e.question->gold ? 1 : 0;
    sum += (p[i] - wanted) * (p[i] - wanted);
  }
  return sum;
}

/// Share of the probability that lies on the right answers, without any normalisation by length.
double probability_mass(const Evidence& e) {
  CUPEL_CHECK(e.question->labels.size() == e.log_probs.size(), user,
              "the metric 'probability_mass' needs 'doc_to_labels'");
  const Scores p = softmax(e.log_probs);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (e.question->labels[i] == 1) sum += p[i];
  return sum;
}

double log_prob(const Evidence& e) {
  return e.log_probs.at(0);
}

using enum Aggregation;
constexpr ChoiceMetric kMetrics[] = {
    {"acc", "acc", mean, true, false, acc},
    {"acc_norm", "acc_norm", mean, true, false, acc_norm},
    {"acc_bytes", "acc_bytes", mean, true, false, acc_bytes},
    {"acc_mutual_info", "acc_mutual_info", mean, true, true, acc_mutual_info},
    {"exact_match", "exact_match", mean, true, false, exact_match},
    {"brier_score", "brier_score", mean, false, false, brier_score},
    {"probability_mass", "acc", mean, true, false, probability_mass},
    {"perplexity", "perplexity", perplexity, false, false, log_prob},
};

double mean_of(std::span<const double> xs) {
  return std::accumulate(xs.begin(), xs.end(), 0.0) / static_cast<double>(xs.size());
}

}  // namespace

const ChoiceMetric* find_choice_metric(std::string_view name) {
  for (const ChoiceMetric& m : kMetrics)
    if (m.name == name) return &m;
  return nullptr;
}

std::string choice_metric_names() {
  std::string out;
  for (const ChoiceMetric& m : kMetrics) out += cat(out.empty() ? "" : ", ", m.name);
  return out;
}

MetricValue aggregate(Aggregation how, std::span<const double> scores,
                      std::span<const double> parts) {
  CUPEL_ASSERT(!scores.empty());
  const double center = mean_of(scores);
  const auto n = static_cast<double>(scores.size());
  if (how == Aggregation::perplexity)
    return {std::exp(-center),
            scores.size() > 1 ? std::optional(perplexity_bootstrap_error(scores)) : std::nullopt};
  if (how == Aggregation::pooled_mean) {
    double passed = 0, all = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      passed += scores[i] * parts[i];
      all += parts[i];
    }
    return {passed / all, {}};
  }
  if (scores.size() < 2) return {center, {}};
  double squares = 0;
  for (const double x : scores) squares += (x - center) * (x - center);
  return {center, std::sqrt(squares / (n - 1) / n)};
}

MetricValue pool(std::span<const MetricValue> parts, std::span<const int64_t> sizes) {
  double total = 0, value = 0, variance = 0;
  bool known = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto n = static_cast<double>(sizes[i]);
    total += n;
    value += parts[i].value * n;
    known = known && parts[i].error.has_value();
    if (parts[i].error) variance += (n - 1) * *parts[i].error * *parts[i].error * n;
  }
  MetricValue out{value / total, {}};
  const double freedom = total - static_cast<double>(parts.size());
  if (known && freedom > 0) out.error = std::sqrt(variance / freedom / total);
  return out;
}

}  // namespace cupel::eval
