// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/divergence.h"
#include "text/scorer.h"
#include "text/tokenizer.h"

namespace cupel::eval {

/// How a text becomes scored blocks. The number is comparable only within one protocol and length.
///   gptq      the text is encoded once, cut into blocks of `length`, the tail dropped; every block
///   alone; mean of the
///             block means over its length - 1 targets.
///   llamacpp  the same blocks, but the first token of each becomes BOS where the tokenizer adds
///   one, and only the
///             predictions of positions length / 2 .. length - 2 count.
///   words     rolling log-likelihood of the whole text (each token scored once, windows of the
///   model's length or
///             `length`), per word and per byte (lm-eval's `wikitext`). With `blocks`, words and
///             bytes are those of the part that was scored.
enum class Protocol { gptq, llamacpp, words };
Protocol protocol_from_name(std::string_view name);  ///< Fault::user for an unknown name
std::string_view protocol_name(Protocol protocol);

struct PerplexityOptions {
  Protocol protocol = Protocol::gptq;
  int64_t length = 2048;
  int64_t blocks = 0;  ///< 0 is all
};

struct PerplexityResult {
  std::string file;
  Protocol protocol = Protocol::gptq;
  int64_t length = 0, blocks = 0, tokens = 0;  ///< tokens: those that were scored
  double value = 0;                            ///< perplexity (words: per word)
  double error = 0;  ///< standard error of `value`, from the spread of the block means
  double byte_perplexity = 0, bits_per_byte = 0;  ///< words only
  std::vector<double> block_nll;  ///< mean negative log-likelihood of each block, nats
};

struct TextMeasure {
  PerplexityResult perplexity;
  std::optional<DivergenceResult> divergence;
};

/// Called with blocks done and blocks in all.
using Advance = std::function<void(int64_t, int64_t)>;

/// Scores `text` with every model in turn, block by block. With a reference its logits are computed
/// once a block, and each model's divergence from it is taken at the scored positions; a reference
/// that is one of the models is scored once and has no divergence. Sums are float64. Fault::user
/// when the text has less than one block (the message says how many tokens there are), or when the
/// reference's vocabulary is another one.
std::vector<TextMeasure> measure_text(const std::vector<text::Scorer*>& models,
                                      text::Scorer* reference, const text::Tokenizer& tokenizer,
                                      std::string_view text, const std::string& name,
                                      const PerplexityOptions& options,
                                      const Advance& advance = {});

}  // namespace cupel::eval
