// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "text/generator.h"

namespace cupel::runtime {

/// The sampler chain of text::SamplingOptions. The draw depends on (seed, position) alone. Every
/// filter leaves at least one candidate: a top_k beyond the vocabulary, a top_p of 0 and a min_p of
/// 1 are taken as they are meant.
class Sampler {
 public:
  /// Fault::user for options that mean nothing: a negative temperature, a penalty of 0.
  explicit Sampler(const text::SamplingOptions& options);
  /// `history` holds the tokens so far (prompt included); `logits` is not changed. Fault::user when
  /// the bias leaves no token.
  text::Token pick(std::span<const float> logits, std::span<const text::Token> history);

 private:
  using Candidate = std::pair<float, text::Token>;
  void adjust(std::span<const float> logits, std::span<const text::Token> history);
  text::Token best() const;
  void collect();
  void sort_to(std::size_t count);
  void keep_top_p();
  void keep_min_p();
  text::Token draw(std::size_t position) const;

  text::SamplingOptions options_;
  std::vector<float> scores_;          // after bias and penalties, by token
  std::vector<Candidate> candidates_;  // the first `sorted_` are the best, in order
  std::size_t sorted_ = 0;
};

}  // namespace cupel::runtime
