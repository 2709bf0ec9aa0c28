// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eval/harness/requests.h"
#include "text/scorer.h"

namespace cupel::eval {

struct Likelihood {
  double log_prob = 0;  ///< of the whole continuation, nats, float64 sums
  bool greedy = false;  ///< every token of it was the most probable one
};
using LikelihoodSink = std::function<void(std::size_t request, const Likelihood&)>;

/// Scores continuations: a model of ours, a server, or answers that were kept from an earlier run.
/// Not thread-safe.
class LikelihoodModel {
 public:
  virtual ~LikelihoodModel() = default;
  virtual int64_t max_length() const = 0;
  virtual std::string description() const = 0;
  /// Every request once, in whatever order is fast. Contexts that are too long lose their
  /// beginning; Fault::data for a continuation that does not fit the model at all.
  virtual void score(std::span<const Request> requests, const LikelihoodSink& sink) = 0;
};

/// Over logits. Requests whose model input is equal share one pass; the scorer batches the rest.
/// `scorer` must outlive it.
std::unique_ptr<LikelihoodModel> likelihood_of(text::Scorer& scorer);

/// What the model reads for a request: the last `max_length` tokens of all but the last one.
Tokens model_input(const Request& request, int64_t max_length);

}  // namespace cupel::eval
