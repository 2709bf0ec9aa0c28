// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <span>
#include <string>

#include "eval/blocks.h"
#include "eval/perplexity.h"

namespace cupel::eval {

/// Log-probabilities of a block's targets, nats, one for each.
using TargetSink = std::function<void(std::size_t block, std::span<const double> log_probs)>;

/// A model that tells the probabilities of given tokens alone, as a server does: enough for
/// perplexity, not for divergence. Not thread-safe.
class TargetModel {
 public:
  virtual ~TargetModel() = default;
  virtual int64_t max_length() const = 0;
  virtual std::string description() const = 0;
  /// Every block once, in whatever order is fast.
  virtual void score_blocks(std::span<const Block> blocks, const TargetSink& sink) = 0;
};

/// The perplexity of a text, over the same blocks and by the same sums as measure_text. `job` has
/// no models of its own; Fault::user when it asks for what needs all logits: divergence from a
/// reference, or a file of predictions.
PerplexityResult measure_targets(TargetModel& model, const TextJob& job);

}  // namespace cupel::eval
