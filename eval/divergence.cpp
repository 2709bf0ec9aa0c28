// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Definitions follow llama.cpp's tools/perplexity where it has them (docs/evaluation.md).
#include "eval/divergence.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "eval/softmax.h"

namespace cupel::eval {

namespace {

/// exp(x - largest) into `terms`; returns log(sum(exp(x))).
double exponentials(std::span<const float> x, std::vector<double>& terms, double& mass) {
  terms.resize(x.size());
  const float largest = *std::max_element(x.begin(), x.end());
  mass = exp_shifted(x, largest, terms);
  return static_cast<double>(largest) + std::log(mass);
}

double at(std::span<const float> logits, text::Token id) {
  CUPEL_CHECK(id >= 0 && static_cast<std::size_t>(id) < logits.size(), data, "token ", id,
              " lies outside the model's ", logits.size(), " logits");
  return static_cast<double>(logits[static_cast<std::size_t>(id)]);
}

}  // namespace

text::Token argmax(std::span<const float> logits) {
  return static_cast<text::Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void DivergenceMeter::add(std::span<const float> reference, std::span<const float> model,
                          const Place& place) {
  CUPEL_CHECK(reference.size() == model.size(), user,
              "the models' vocabularies differ: ", reference.size(), " and ", model.size(),
              " logits; divergence needs the same tokenizer");
  double mass_p = 0, mass_q = 0;
  const double lse_p = exponentials(reference, p_, mass_p);
  const double lse_q = exponentials(model, q_, mass_q);
  // log p - log q is the difference of the logits, less that of the two sums, at every token.
  const CrossSums sums = cross_sums(p_, q_, reference, model);
  push({sums.under_p / mass_p - (lse_p - lse_q), (lse_p - lse_q) - sums.under_q / mass_q,
        argmax(reference) == argmax(model)},
       place);
  if (place.target >= 0)
    push_target(at(reference, place.target) - lse_p, at(model, place.target) - lse_q);
}

void DivergenceMeter::add(const TopRow& reference, std::span<const float> model,
                          const Place& place) {
  CUPEL_ASSERT(!reference.ids.empty() && reference.ids.size() == reference.log_p.size());
  double mass = 0;
  const double lse = exponentials(model, q_, mass);
  Moments m;
  for (std::size_t i = 0; i < reference.ids.size(); ++i) {
    const double log_p = static_cast<double>(reference.log_p[i]);
    const double log_q = at(model, reference.ids[i]) - lse;
    double& q = q_[static_cast<std::size_t>(reference.ids[i])];
    m.forward += std::exp(log_p) * (log_p - log_q);
    m.reverse += q / mass * (log_q - log_p);
    q = 0;
  }
  // The rest is one event: it can only hide divergence, never add any.
  const double log_p = static_cast<double>(reference.log_rest), q = sum(q_) / mass;
  if (std::isfinite(log_p) && q > 0) {
    m.forward += std::exp(log_p) * (log_p - std::log(q));
    m.reverse += q * (std::log(q) - log_p);
  }
  m.same = reference.ids[0] == argmax(model);
  push(m, place);
  push_target(static_cast<double>(reference.log_target), at(model, place.target) - lse);
  kept_ = static_cast<int64_t>(reference.ids.size());
}

void DivergenceMeter::push(const Moments& m, const Place& place) {
  CUPEL_CHECK(std::isfinite(m.forward) && std::isfinite(m.reverse), data,
              "the divergence at position ", place.context - 1, " is not finite");
  kl_.push_back(std::max(m.forward, 0.0));
  reverse_.push_back(std::max(m.reverse, 0.0));
  same_.push_back(m.same ? 1 : 0);
  places_.push_back(place);
}

void DivergenceMeter::push_target(double log_p, double log_q) {
  nll_p_.push_back(-log_p);
  nll_q_.push_back(-log_q);
  delta_.push_back(std::exp(log_q) - std::exp(log_p));
}

PerplexityRatio perplexity_ratio(std::span<const double> reference, std::span<const double> model) {
  const Estimate p = mean_of(reference), q = mean_of(model);
  PerplexityRatio out;
  out.reference = std::exp(p.value);
  out.model = std::exp(q.value);
  out.log_ratio.value = q.value - p.value;
  out.difference.value = out.model - out.reference;
  if (const auto covariance = covariance_of_means(reference, model)) {
    const double vp = *p.error * *p.error, vq = *q.error * *q.error;
    if (vp > 0 && vq > 0) out.correlation = *covariance / std::sqrt(vp * vq);
    out.log_ratio.error = std::sqrt(std::max(vp + vq - 2 * *covariance, 0.0));
    out.difference.error =
        std::sqrt(std::max(out.reference * out.reference * vp + out.model * out.model * vq -
                               2 * out.reference * out.model * *covariance,
                           0.0));
  }
  out.ratio = exp_of(out.log_ratio);
  return out;
}

}  // namespace cupel::eval
