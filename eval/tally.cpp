// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/tally.h"

#include <cmath>

#include "base/error.h"
#include "eval/softmax.h"
#include "eval/wikitext.h"

namespace cupel::eval {

namespace {

std::vector<double> counts_of(const std::vector<BlockPlace>& places) {
  std::vector<double> out;
  for (const BlockPlace& p : places) out.push_back(static_cast<double>(p.count));
  return out;
}

Estimate times(const Estimate& e, double factor) {
  return {e.value * factor, e.error ? std::optional(*e.error * factor) : std::nullopt};
}

double target_log_prob(text::Token target, std::span<const float> logits, int64_t position,
                       const text::Scorer& scorer) {
  CUPEL_CHECK(target >= 0 && static_cast<std::size_t>(target) < logits.size(), data, "token ",
              target, " lies outside the model's ", logits.size(),
              " logits: the tokenizer belongs to another model");
  const std::ptrdiff_t bad = first_not_finite(logits);
  CUPEL_CHECK(bad < 0, data, "the logit of token ", bad, " at position ", position, " is ",
              logits[static_cast<std::size_t>(std::max<std::ptrdiff_t>(bad, 0))], " in ",
              scorer.description());
  return static_cast<double>(logits[static_cast<std::size_t>(target)]) - log_sum_exp(logits);
}

}  // namespace

void Tally::begin(const Block& block) {
  block_nll_.push_back(0);
  places_.push_back(block.place);
  targets_.insert(targets_.end(), block.targets.begin(), block.targets.end());
}

void Tally::push(double log_prob) {
  nll_.push_back(-log_prob);
  block_nll_.back() -= log_prob;
}

void Tally::add(const Block& block, std::span<const double> log_probs) {
  CUPEL_ASSERT(log_probs.size() == block.targets.size());
  begin(block);
  for (const double log_prob : log_probs) push(log_prob);
}

void Tally::score(text::Scorer& scorer, const Block& block, std::size_t index, const Row& each) {
  std::size_t at = 0;
  begin(block);
  try {
    scorer.score(block.ids, block.from, [&](const text::LogitRows& piece) {
      CUPEL_ASSERT(piece.first - block.from == static_cast<int64_t>(at));
      for (int64_t r = 0; r < piece.rows; ++r, ++at) {
        CUPEL_ASSERT(at < block.targets.size());
        push(target_log_prob(block.targets[at], piece.row(r), piece.first + r, scorer));
        if (each) each(at, piece.row(r));
      }
    });
  } catch (Error& e) {  // not in_frame: exceptions of the engine have their own way out
    e.add_frame(cat("scoring block ", index, " with ", scorer.description()));
    throw;
  }
  CUPEL_ASSERT(at == block.targets.size() && static_cast<int64_t>(at) == block.place.count);
}

/// Sum over documents of the log-likelihood, by the sum of a size; each document is a sample.
Estimate Tally::per_document(const Corpus& corpus, int64_t CorpusDocument::*size) const {
  std::vector<double> nll(corpus.documents.size(), 0.0), sizes;
  for (const CorpusDocument& d : corpus.documents) sizes.push_back(static_cast<double>(d.*size));
  for (std::size_t i = 0; i < places_.size(); ++i)
    nll[static_cast<std::size_t>(places_[i].document)] += block_nll_[i];
  return ratio_of(nll, sizes);
}

void Tally::add_words(PerplexityResult& r, const Corpus& corpus,
                      const text::Tokenizer& tokenizer) const {
  Estimate per_word, per_byte;
  if (corpus.documents.size() > 1) {
    r.error_over = "documents";
    for (const CorpusDocument& d : corpus.documents) {
      r.words += d.words;
      r.bytes += d.bytes;
    }
    per_word = per_document(corpus, &CorpusDocument::words);
    per_byte = per_document(corpus, &CorpusDocument::bytes);
  } else {
    // Words and bytes of the part that was scored: the samples are windows, weighed by tokens.
    r.error_over = "windows";
    const CorpusDocument& whole = corpus.documents[0];
    const bool part = static_cast<int64_t>(targets_.size()) < r.list.text_tokens;
    const std::string scored = part ? tokenizer.decode(targets_, false) : std::string();
    r.words = part ? count_space_separated(scored) : whole.words;
    r.bytes = part ? static_cast<int64_t>(scored.size()) : whole.bytes;
    const Estimate per_token = ratio_of(block_nll_, counts_of(places_));
    const auto tokens = static_cast<double>(r.tokens);
    per_word = times(per_token, tokens / static_cast<double>(r.words));
    per_byte = times(per_token, tokens / static_cast<double>(r.bytes));
  }
  const Estimate word = exp_of(per_word);
  r.value = word.value;
  r.error = word.error;
  r.byte_perplexity = exp_of(per_byte);
  r.bits_per_byte = times(per_byte, 1 / std::log(2.0));
}

PerplexityResult Tally::result(const Corpus& corpus, const BlockList& list,
                               const text::Tokenizer& tokenizer) const {
  PerplexityResult r;
  r.file = corpus.name;
  r.list = list;
  r.tokens = static_cast<int64_t>(nll_.size());
  for (std::size_t i = 0; i < places_.size(); ++i)
    r.block_nll.push_back(block_nll_[i] / static_cast<double>(places_[i].count));
  if (list.protocol == Protocol::words) {
    add_words(r, corpus, tokenizer);
    return r;
  }
  const bool tokens = list.protocol == Protocol::llamacpp;
  const Estimate value = exp_of(mean_of(tokens ? nll_ : r.block_nll));
  r.error_over = tokens ? "tokens" : "blocks";
  r.value = value.value;
  r.error = value.error;
  return r;
}

}  // namespace cupel::eval
