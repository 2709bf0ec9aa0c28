// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// What a DivergenceMeter has seen, summed up.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "base/cat.h"
#include "eval/divergence.h"

namespace cupel::eval {

namespace {

Spread spread_of(std::vector<double> values) {
  Spread out;
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  out.min = values.front();
  out.max = values.back();
  for (std::size_t i = 0; i < kPercentiles.size(); ++i)
    out.percentiles[i] = quantile(values, kPercentiles[i] / 100);
  return out;
}

/// Root of the mean square, its error to first order from that of the mean square.
Estimate rms_of(std::vector<double> values) {
  for (double& v : values) v *= v;
  const Estimate mean = mean_of(values);
  Estimate out{std::sqrt(mean.value), {}};
  if (mean.error && out.value > 0) out.error = *mean.error / (2 * out.value);
  return out;
}

std::vector<double> picked(const std::vector<double>& values,
                           const std::vector<std::size_t>& positions) {
  std::vector<double> out;
  for (const std::size_t i : positions) out.push_back(values[i]);
  return out;
}

}  // namespace

PartDivergence DivergenceMeter::part(std::string name,
                                     const std::vector<std::size_t>& positions) const {
  PartDivergence out;
  out.name = std::move(name);
  out.tokens = static_cast<int64_t>(positions.size());
  out.kl = mean_of(picked(kl_, positions));
  out.same_top1 = mean_of(picked(same_, positions));
  return out;
}

void DivergenceMeter::add_parts(DivergenceResult& r) const {
  std::map<int64_t, std::vector<std::size_t>> ranges;
  std::map<TokenClass, std::vector<std::size_t>> classes;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    ranges[static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(places_[i].context)))]
        .push_back(i);
    if (places_[i].target >= 0) classes[places_[i].kind].push_back(i);
  }
  for (const auto& [from, positions] : ranges) {
    const int64_t to = 2 * from - 1;
    r.by_position.push_back(part(from == to ? cat(from) : cat(from, "-", to), positions));
    r.by_position.back().from = from;
    r.by_position.back().to = to;
  }
  for (const auto& [kind, positions] : classes)
    r.by_class.push_back(part(std::string(token_class_name(kind)), positions));
}

DivergenceResult DivergenceMeter::result(std::string against) const {
  DivergenceResult r;
  r.against = std::move(against);
  r.kept_tokens = kept_;
  r.tokens = static_cast<int64_t>(kl_.size());
  if (kl_.empty()) return r;
  const Estimate kl = mean_of(kl_), same = mean_of(same_);
  r.kl_mean = kl.value;
  r.kl_error = kl.error;
  r.kl_reverse = mean_of(reverse_);
  r.kl_spread = spread_of(kl_);
  r.same_top1 = same.value;
  r.same_top1_error = same.error;
  r.delta_p = mean_of(delta_);
  r.delta_p_rms = rms_of(delta_);
  r.delta_p_spread = spread_of(delta_);
  add_parts(r);
  if (!nll_p_.empty()) r.perplexity = perplexity_ratio(nll_p_, nll_q_);
  r.kl = kl_;
  return r;
}

}  // namespace cupel::eval
