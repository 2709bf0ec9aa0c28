// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/estimate.h"
#include "eval/token_class.h"

namespace cupel::eval {

inline constexpr std::array kPercentiles = {0.1, 1.0, 5.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9};

/// How values spread over the positions; percentiles are linear between neighbours.
struct Spread {
  double min = 0, max = 0;
  std::array<double, kPercentiles.size()> percentiles{};
  double median() const { return percentiles[4]; }
  double p90() const { return percentiles[5]; }
  double p99() const { return percentiles[7]; }
};

/// Divergence over a part of the positions.
struct PartDivergence {
  std::string name;          ///< "4-7", "word start"
  int64_t from = 0, to = 0;  ///< tokens of context; 0 where the part is a class of tokens
  int64_t tokens = 0;
  Estimate kl, same_top1;
};

/// Perplexities of both models over the same tokens. Errors come from the joint covariance of the
/// tokens' log-likelihoods: what moves both models alike cancels.
struct PerplexityRatio {
  double reference = 0, model = 0;
  std::optional<double> correlation;  ///< of both mean log-likelihoods; none where one is constant
  Estimate log_ratio;                 ///< ln(model / reference)
  Estimate ratio, difference;
};

/// Divergence of a model q from a reference p over many positions. KL is in nats, float64.
struct DivergenceResult {
  std::string against;
  /// 0: KL over the whole vocabulary. Else the reference came from a file that keeps so many most
  /// probable tokens and the sum of the rest: KL is a lower bound.
  int64_t kept_tokens = 0;
  int64_t tokens = 0;
  double kl_mean = 0;  ///< KL(p || q)
  std::optional<double> kl_error;
  Estimate kl_reverse;  ///< KL(q || p)
  Spread kl_spread;
  double same_top1 = 0;  ///< share of positions with the same best token (lowest id on ties)
  std::optional<double> same_top1_error;
  Estimate delta_p;      ///< change of the right token's probability, as a share (0.01 is 1 %)
  Estimate delta_p_rms;  ///< root of its mean square
  Spread delta_p_spread;
  std::vector<PartDivergence> by_position;  ///< by context length, doubling
  std::vector<PartDivergence> by_class;     ///< of the token that followed
  std::optional<PerplexityRatio> perplexity;
  std::vector<double> kl;  ///< every position, in order
};

/// Where a position stands.
struct Place {
  text::Token target = -1;  ///< the token that followed; -1: none, the position has KL alone
  int64_t context = 1;      ///< tokens that the models had read, from 1
  TokenClass kind = TokenClass::other;  ///< of the target
};

/// What a reference file keeps of a position: the most probable tokens, best first, and the log of
/// the others' probability (-infinity when there are none).
struct TopRow {
  std::span<const text::Token> ids;
  std::span<const float> log_p;
  float log_rest = 0;
  float log_target = 0;  ///< of the token that followed
};

class DivergenceMeter {
 public:
  /// Logits of one position from both models. All must be finite.
  void add(std::span<const float> reference, std::span<const float> model, const Place& place);
  /// The same against a saved row; `place` must have a target.
  void add(const TopRow& reference, std::span<const float> model, const Place& place);
  DivergenceResult result(std::string against) const;

 private:
  struct Moments {
    double forward = 0, reverse = 0;
    bool same = false;
  };
  void push(const Moments& m, const Place& place);
  void push_target(double log_p, double log_q);
  PartDivergence part(std::string name, const std::vector<std::size_t>& positions) const;
  void add_parts(DivergenceResult& r) const;
  std::vector<double> kl_, reverse_, same_, delta_, nll_p_, nll_q_;
  std::vector<Place> places_;
  int64_t kept_ = 0;
  std::vector<double> p_, q_;  // exp(logit - largest) of the position at hand
};

/// Index of the largest, the lowest on ties.
text::Token argmax(std::span<const float> logits);

/// Perplexities from negative log-likelihoods of the same tokens under both models.
PerplexityRatio perplexity_ratio(std::span<const double> reference, std::span<const double> model);

}  // namespace cupel::eval
