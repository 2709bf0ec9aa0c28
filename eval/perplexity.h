// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/blocks.h"
#include "eval/corpus.h"
#include "eval/divergence.h"
#include "eval/reference.h"
#include "text/scorer.h"
#include "text/tokenizer.h"

namespace cupel::eval {

struct PerplexityResult {
  std::string file;
  BlockList list;                ///< protocol, length, the text and the blocks that were scored
  int64_t tokens = 0;            ///< that were scored
  double value = 0;              ///< perplexity (words: per word)
  std::optional<double> error;   ///< standard error of `value`; unknown from a single sample
  std::string error_over;        ///< the samples that `error` comes from: gptq "blocks", llamacpp
                                 ///< "tokens", words "documents", or "windows" of a single one
  int64_t words = 0, bytes = 0;  ///< words only: of the text that was scored, as it was before
                                 ///< detokenizing
  Estimate byte_perplexity, bits_per_byte;  ///< words only
  std::vector<double> block_nll;            ///< mean negative log-likelihood of each block, nats
};

struct TextMeasure {
  PerplexityResult perplexity;
  std::optional<DivergenceResult> divergence;
};

/// Called with blocks done and blocks in all.
using Advance = std::function<void(int64_t, int64_t)>;

/// One text to score with several models.
struct TextJob {
  std::vector<text::Scorer*> models;
  /// What divergence is measured from: a model (which may be one of `models`: then it is scored
  /// once and has no divergence), or something saved. At most one of the two.
  text::Scorer* reference = nullptr;
  Reference* saved = nullptr;
  const text::Tokenizer* tokenizer = nullptr;
  Corpus corpus;
  PerplexityOptions options;
  /// Score the blocks of an earlier run, which it lists, read from the file `blocks_file`.
  std::optional<BlockList> blocks;
  std::string blocks_file;
  std::string save_reference;  ///< write the predictions of the only model here (reference_file.h)
  Advance advance;
};

/// The blocks of a job, for models that take `limit` positions: cut by its protocol, then those
/// that its list names. Fault::user also when a list leaves out parts of pages.
TextBlocks blocks_of(const TextJob& job, int64_t limit);

/// Scores the text with every model in turn, block by block, and takes each model's divergence from
/// the reference at the scored positions. Sums are float64. Fault::user when the text has less than
/// one block (the message says how many tokens there are), when the reference's vocabulary is
/// another one, or when lists and files belong to another text, tokenizer or protocol.
std::vector<TextMeasure> measure_text(const TextJob& job);

/// The same for a plain text and nothing saved.
std::vector<TextMeasure> measure_text(const std::vector<text::Scorer*>& models,
                                      text::Scorer* reference, const text::Tokenizer& tokenizer,
                                      std::string_view text, const std::string& name,
                                      const PerplexityOptions& options,
                                      const Advance& advance = {});

}  // namespace cupel::eval
