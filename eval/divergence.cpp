// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/divergence.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "eval/softmax.h"

namespace cupel::eval {

namespace {

/// Value at share `q` of sorted values, linear between neighbours.
double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

double log_sum_exp(std::span<const float> logits) {
  thread_local std::vector<double> terms;
  terms.resize(logits.size());
  const float largest = *std::max_element(logits.begin(), logits.end());
  return static_cast<double>(largest) + std::log(exp_shifted(logits, largest, terms));
}

text::Token argmax(std::span<const float> logits) {
  return static_cast<text::Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void DivergenceMeter::add(std::span<const float> reference, std::span<const float> model,
                          text::Token target) {
  CUPEL_CHECK(reference.size() == model.size(), user,
              "the models' vocabularies differ: ", reference.size(), " and ", model.size(),
              " logits; divergence needs the same tokenizer");
  p_.resize(reference.size());
  q_.resize(model.size());
  const float top_p = *std::max_element(reference.begin(), reference.end());
  const float top_q = *std::max_element(model.begin(), model.end());
  const double mass_p = exp_shifted(reference, top_p, p_), mass_q = exp_shifted(model, top_q, q_);
  const double lse_p = static_cast<double>(top_p) + std::log(mass_p);
  const double lse_q = static_cast<double>(top_q) + std::log(mass_q);
  // log p - log q is the difference of the logits, less that of the two sums, at every token.
  const CrossSums sums = cross_sums(p_, q_, reference, model);
  const double forward = sums.under_p / mass_p - (lse_p - lse_q);
  const double reverse = (lse_p - lse_q) - sums.under_q / mass_q;
  CUPEL_CHECK(std::isfinite(forward) && std::isfinite(reverse), data, "the divergence at position ",
              kl_.size(), " is not finite");
  kl_.push_back(std::max(forward, 0.0));
  reverse_ += std::max(reverse, 0.0);
  same_ += argmax(reference) == argmax(model);
  if (target < 0) return;
  const auto t = static_cast<std::size_t>(target);
  const double change = std::exp(static_cast<double>(model[t]) - lse_q) -
                        std::exp(static_cast<double>(reference[t]) - lse_p);
  delta_ += change;
  delta_squared_ += change * change;
  ++targets_;
}

DivergenceResult DivergenceMeter::result(std::string against) const {
  DivergenceResult r;
  r.against = std::move(against);
  r.tokens = static_cast<int64_t>(kl_.size());
  if (kl_.empty()) return r;
  const auto n = static_cast<double>(kl_.size());
  double sum = 0, squares = 0;
  for (const double k : kl_) sum += k;
  r.kl_mean = sum / n;
  for (const double k : kl_) squares += (k - r.kl_mean) * (k - r.kl_mean);
  r.kl_error = kl_.size() > 1 ? std::sqrt(squares / (n - 1) / n) : 0;
  std::vector<double> sorted = kl_;
  std::sort(sorted.begin(), sorted.end());
  r.kl_median = quantile(sorted, 0.5);
  r.kl_p90 = quantile(sorted, 0.9);
  r.kl_p99 = quantile(sorted, 0.99);
  r.kl_max = sorted.back();
  r.kl_reverse_mean = reverse_ / n;
  r.same_top1 = static_cast<double>(same_) / n;
  if (targets_ > 0) {
    r.delta_p_mean = delta_ / static_cast<double>(targets_);
    r.delta_p_rms = std::sqrt(delta_squared_ / static_cast<double>(targets_));
  }
  r.kl = kl_;
  return r;
}

}  // namespace cupel::eval
