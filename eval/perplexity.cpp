// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/perplexity.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.h"
#include "eval/blocks.h"

namespace cupel::eval {

namespace {

/// Words as lm-eval counts them: pieces between runs of white space, empty ones at the ends included.
double count_words(std::string_view text) {
  double words = 1;
  bool in_space = false;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (space && !in_space) ++words;
    in_space = space;
  }
  return words;
}

/// Scores one block after the other for one model, and keeps what the result needs.
class Tally {
 public:
  explicit Tally(text::Scorer* scorer) : scorer_(*scorer) {}

  /// Log-likelihoods of a block. `reference` holds the reference's logits of the scored positions, [rows, vocab];
  /// `keep` receives this model's.
  void score(const Block& block, const std::vector<float>* reference, std::vector<float>* keep) {
    double sum = 0;
    if (keep) keep->clear();
    scorer_.score(block.ids, block.from, [&](const text::LogitRows& piece) {
      for (int64_t r = 0; r < piece.rows; ++r) {
        const auto at = static_cast<std::size_t>(piece.first + r - block.from);
        const auto row = piece.row(r);
        const text::Token target = at < block.targets.size() ? block.targets[at] : -1;
        if (target >= 0) sum += nll(row, target);
        if (reference) meter_.add(std::span(*reference).subspan(at * row.size(), row.size()), row, target);
        if (keep) keep->insert(keep->end(), row.begin(), row.end());
      }
    });
    block_nll_.push_back(sum / static_cast<double>(block.targets.size()));
    total_ += sum;
    tokens_ += static_cast<int64_t>(block.targets.size());
  }

  PerplexityResult result(const std::string& file, const PerplexityOptions& options, std::string_view text) const {
    PerplexityResult r{file, options.protocol, options.length, static_cast<int64_t>(block_nll_.size()), tokens_, 0, 0, 0, 0, block_nll_};
    const auto n = static_cast<double>(block_nll_.size());
    double mean = 0, squares = 0;
    for (const double x : block_nll_) mean += x / n;
    for (const double x : block_nll_) squares += (x - mean) * (x - mean);
    const double error = block_nll_.size() > 1 ? std::sqrt(squares / (n - 1) / n) : 0;
    if (options.protocol == Protocol::words) {
      r.value = std::exp(total_ / count_words(text));
      r.byte_perplexity = std::exp(total_ / static_cast<double>(text.size()));
      r.bits_per_byte = total_ / static_cast<double>(text.size()) / std::log(2.0);
    } else {
      r.value = std::exp(mean);
    }
    r.error = r.value * error;
    return r;
  }

  std::optional<DivergenceResult> divergence(const std::string& against) const { return meter_.result(against); }

 private:
  double nll(std::span<const float> row, text::Token target) const {
    CUPEL_CHECK(static_cast<std::size_t>(target) < row.size(), data, "token ", target, " lies outside the model's ",
                row.size(), " logits: the tokenizer belongs to another model");
    const double value = log_sum_exp(row) - static_cast<double>(row[static_cast<std::size_t>(target)]);
    CUPEL_CHECK(std::isfinite(value), data, "the log-likelihood of token ", tokens_, " is not finite in ", scorer_.description());
    return value;
  }

  text::Scorer& scorer_;
  DivergenceMeter meter_;
  std::vector<double> block_nll_;
  double total_ = 0;
  int64_t tokens_ = 0;
};

}  // namespace

Protocol protocol_from_name(std::string_view name) {
  for (const Protocol p : {Protocol::gptq, Protocol::llamacpp, Protocol::words})
    if (protocol_name(p) == name) return p;
  fail(Fault::user, "unknown protocol '", name, "' (known: gptq, llamacpp, words)");
}

std::string_view protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::gptq: return "gptq";
    case Protocol::llamacpp: return "llamacpp";
    case Protocol::words: return "words";
  }
  return "";
}

std::vector<TextMeasure> measure_text(const std::vector<text::Scorer*>& models, text::Scorer* reference,
                                      const text::Tokenizer& tokenizer, std::string_view text, const std::string& name,
                                      const PerplexityOptions& options, const Advance& advance) {
  CUPEL_ASSERT(!models.empty());
  int64_t limit = models[0]->max_length();
  for (text::Scorer* m : models) limit = std::min(limit, m->max_length());
  const auto blocks = blocks_of(tokenizer, text, name, options, limit);
  std::vector<Tally> tallies(models.begin(), models.end());
  std::vector<float> reference_logits;
  int64_t done = 0;
  for (const Block& block : blocks) {
    if (reference) {
      const auto own = std::find(models.begin(), models.end(), reference);
      Tally outside(reference);
      Tally& tally = own == models.end() ? outside : tallies[static_cast<std::size_t>(own - models.begin())];
      tally.score(block, nullptr, &reference_logits);
    }
    for (std::size_t i = 0; i < models.size(); ++i)
      if (models[i] != reference) tallies[i].score(block, reference ? &reference_logits : nullptr, nullptr);
    if (advance) advance(++done, static_cast<int64_t>(blocks.size()));
  }
  std::vector<TextMeasure> out;
  for (std::size_t i = 0; i < models.size(); ++i) {
    out.push_back({tallies[i].result(name, options, text), {}});
    if (reference && models[i] != reference) out.back().divergence = tallies[i].divergence(reference->description());
  }
  return out;
}

}  // namespace cupel::eval
