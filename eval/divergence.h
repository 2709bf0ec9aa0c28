// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace cupel::eval {

/// Divergence of a model q from a reference p over many positions. KL is in nats, full vocabulary,
/// float64.
struct DivergenceResult {
  std::string against;
  int64_t tokens = 0;
  double kl_mean = 0, kl_error = 0, kl_median = 0, kl_p90 = 0, kl_p99 = 0,
         kl_max = 0;           ///< KL(p || q)
  double kl_reverse_mean = 0;  ///< KL(q || p)
  double same_top1 = 0;        ///< share of positions with the same best token (lowest id on ties)
  double delta_p_mean = 0,
         delta_p_rms = 0;  ///< change of the right token's probability, as a share (0.01 is 1 %)
  std::vector<double> kl;  ///< every position, in order
};

class DivergenceMeter {
 public:
  /// Logits of one position from both models, and the token that followed (-1 where there is none:
  /// then delta-p leaves the position out).
  void add(std::span<const float> reference, std::span<const float> model, text::Token target);
  DivergenceResult result(std::string against) const;

 private:
  std::vector<double> kl_;
  std::vector<double> p_, q_;  // exp(logit - largest) of the position at hand
  double reverse_ = 0, delta_ = 0, delta_squared_ = 0;
  int64_t same_ = 0, targets_ = 0;
};

/// log(sum(exp(logits))) in float64.
double log_sum_exp(std::span<const float> logits);
/// Index of the largest, the lowest on ties.
text::Token argmax(std::span<const float> logits);

}  // namespace cupel::eval
