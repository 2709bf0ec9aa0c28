// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace cupel::text {

/// Logits of consecutive positions: `logits` is row major [rows, vocab], row r belongs to position
/// `first + r` and predicts token first + r + 1. Valid during the call only.
struct LogitRows {
  int64_t first = 0;
  int64_t rows = 0;
  int64_t vocab = 0;
  const float* logits = nullptr;
  std::span<const float> row(int64_t r) const {
    return {logits + r * vocab, static_cast<std::size_t>(vocab)};
  }
};
using LogitSink = std::function<void(const LogitRows&)>;

/// A model as something that gives probabilities: tokens in, logits out. The float model in
/// LibTorch, the packed artifact in the runtime and a remote server all provide it, so one harness
/// measures them all. Not thread-safe.
class Scorer {
 public:
  virtual ~Scorer() = default;
  /// Width of a logits row.
  virtual int64_t vocab() const = 0;
  /// Longest sequence that the model takes.
  virtual int64_t max_length() const = 0;
  /// For people: "SmolLM2 (LibTorch, float32)".
  virtual std::string description() const = 0;
  /// Runs one sequence alone, from position 0, and hands over the logits of positions `from`.. in
  /// order, in one or several pieces. Fault::data if a logit is not finite (the message names the
  /// position).
  virtual void score(std::span<const Token> ids, int64_t from, const LogitSink& sink) = 0;

  struct Sequence {
    std::span<const Token> ids;
    int64_t from = 0;
  };
  /// The same for many sequences, each alone, in whatever order is fast; the sink is told which one
  /// the rows belong to. The rows of one sequence come in order; those of others may lie between
  /// them. This one goes in the order of the tokens, so that a model that keeps the beginning of
  /// the sequence before can share it.
  virtual void score_many(std::span<const Sequence> sequences,
                          const std::function<void(std::size_t, const LogitRows&)>& sink);
};

/// Sequences by their tokens, so that neighbours share their beginnings; equal ones as given.
std::vector<std::size_t> token_order(std::span<const Scorer::Sequence> sequences);

}  // namespace cupel::text
