// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eval/blocks.h"
#include "eval/perplexity.h"
#include "text/scorer.h"

namespace cupel::eval {

/// What the perplexity of one model needs, from one block after the other.
class Tally {
 public:
  /// Logits of a scored position; `row` counts them from the block's first.
  using Row = std::function<void(std::size_t row, std::span<const float> logits)>;

  /// `each` gets every scored row in order. Fault::data for logits that are not finite, or that the
  /// targets do not fit; model, position and block are named.
  void score(text::Scorer& scorer, const Block& block, std::size_t index, const Row& each = {});
  /// The same from the targets' log-probabilities (nats).
  void add(const Block& block, std::span<const double> log_probs);

  /// Perplexity by the protocol of `list`, over the blocks that were scored.
  PerplexityResult result(const Corpus& corpus, const BlockList& list,
                          const text::Tokenizer& tokenizer) const;

 private:
  void begin(const Block& block);
  void push(double log_prob);
  void add_words(PerplexityResult& r, const Corpus& corpus, const text::Tokenizer& tokenizer) const;
  Estimate per_document(const Corpus& corpus, int64_t CorpusDocument::*size) const;

  std::vector<double> nll_;        // of every scored token
  std::vector<double> block_nll_;  // sum of each block
  std::vector<BlockPlace> places_;
  std::vector<text::Token> targets_;
};

}  // namespace cupel::eval
