// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/perplexity.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "eval/blocks.h"

namespace cupel::eval {

namespace {

/// Bytes of the white space at the front of UTF-8 `text`, 0 when there is none: what Python's \s
/// matches.
std::size_t space_length(std::string_view text) {
  const auto c = static_cast<unsigned char>(text[0]);
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) ? 1 : 0;
  if (text.starts_with("\xC2\x85") || text.starts_with("\xC2\xA0")) return 2;
  for (const char* wide : {"\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF",
                           "\xE2\x81\x9F", "\xE3\x80\x80"})
    if (text.starts_with(wide)) return 3;
  const bool general = text.starts_with("\xE2\x80") && text.size() > 2;  // U+2000 .. U+200A
  return general && static_cast<unsigned char>(text[2]) - 0x80u <= 0x0A ? 3 : 0;
}

/// Words as lm-eval counts them: pieces between runs of white space, empty ones at the ends
/// included.
int64_t count_words(std::string_view text) {
  int64_t words = 1;
  for (bool in_space = false; !text.empty();) {
    const std::size_t space = space_length(text);
    words += space > 0 && !in_space;
    in_space = space > 0;
    text.remove_prefix(std::max<std::size_t>(space, 1));
  }
  return words;
}

/// The part of `text` that the blocks of a rolling measurement score: all of it, unless --blocks
/// cut them short.
std::string scored_text(const text::Tokenizer& tokenizer, std::string_view text,
                        const std::vector<Block>& blocks, const PerplexityOptions& options) {
  if (options.blocks == 0) return std::string(text);
  std::vector<text::Token> ids;
  for (const Block& b : blocks) ids.insert(ids.end(), b.targets.begin(), b.targets.end());
  return tokenizer.decode(ids, false);
}

/// Scores one block after the other for one model, and keeps what the result needs.
class Tally {
 public:
  explicit Tally(text::Scorer* scorer) : scorer_(*scorer) {}

  /// Log-likelihoods of a block. `reference` holds the reference's logits of the scored positions,
  /// [rows, vocab]; `keep` receives this model's.
  void score(const Block& block, const std::vector<float>* reference, std::vector<float>* keep) {
    double sum = 0;
    std::size_t at = 0;
    if (keep) keep->clear();
    scorer_.score(block.ids, block.from, [&](const text::LogitRows& piece) {
      CUPEL_ASSERT(piece.first - block.from == static_cast<int64_t>(at));
      for (int64_t r = 0; r < piece.rows; ++r, ++at) {
        CUPEL_ASSERT(at < block.targets.size());
        const auto row = piece.row(r);
        sum += nll(row, block.targets[at], block.from + static_cast<int64_t>(at));
        if (reference)
          meter_.add(std::span(*reference).subspan(at * row.size(), row.size()), row,
                     block.targets[at]);
        if (keep) keep->insert(keep->end(), row.begin(), row.end());
      }
    });
    CUPEL_ASSERT(at == block.targets.size());
    block_nll_.push_back(sum / static_cast<double>(at));
    total_ += sum;
    tokens_ += static_cast<int64_t>(at);
  }

  PerplexityResult result(const std::string& file, const PerplexityOptions& options) const {
    PerplexityResult r;
    r.file = file;
    r.protocol = options.protocol;
    r.length = options.length;
    r.blocks = static_cast<int64_t>(block_nll_.size());
    r.tokens = tokens_;
    r.block_nll = block_nll_;
    const auto n = static_cast<double>(block_nll_.size());
    double mean = 0, squares = 0;
    for (const double x : block_nll_) mean += x / n;
    for (const double x : block_nll_) squares += (x - mean) * (x - mean);
    r.value = std::exp(mean);
    r.error = block_nll_.size() > 1 ? r.value * std::sqrt(squares / (n - 1) / n) : 0;
    return r;
  }

  /// The same per word and byte of the text that was scored.
  PerplexityResult result(const std::string& file, const PerplexityOptions& options,
                          std::string_view scored) const {
    PerplexityResult r = result(file, options);
    const double relative_error = r.error / r.value, tokens = static_cast<double>(tokens_);
    const double words = static_cast<double>(count_words(scored)),
                 bytes = static_cast<double>(scored.size());
    r.value = std::exp(total_ / words);
    r.error = r.value * relative_error * tokens / words;
    r.byte_perplexity = std::exp(total_ / bytes);
    r.bits_per_byte = total_ / bytes / std::log(2.0);
    return r;
  }

  std::optional<DivergenceResult> divergence(const std::string& against) const {
    return meter_.result(against);
  }

 private:
  double nll(std::span<const float> row, text::Token target, int64_t position) const {
    CUPEL_CHECK(static_cast<std::size_t>(target) < row.size(), data, "token ", target,
                " lies outside the model's ", row.size(),
                " logits: the tokenizer belongs to another model");
    const double value =
        log_sum_exp(row) - static_cast<double>(row[static_cast<std::size_t>(target)]);
    CUPEL_CHECK(std::isfinite(value), data, "the log-likelihood at position ", position,
                " of block ", block_nll_.size(), " is not finite in ", scorer_.description());
    return value;
  }

  text::Scorer& scorer_;
  DivergenceMeter meter_;
  std::vector<double> block_nll_;
  double total_ = 0;
  int64_t tokens_ = 0;
};

/// Longest sequence that every model takes. Divergence needs logits of one width.
int64_t common_length(const std::vector<text::Scorer*>& models, const text::Scorer* reference) {
  int64_t limit = reference ? reference->max_length() : models[0]->max_length();
  for (const text::Scorer* m : models) {
    limit = std::min(limit, m->max_length());
    CUPEL_CHECK(!reference || m->vocab() == reference->vocab(), user,
                "the vocabularies differ: ", reference->vocab(), " logits in ",
                reference->description(), ", ", m->vocab(), " in ", m->description(),
                "; divergence needs the same tokenizer");
  }
  return limit;
}

}  // namespace

Protocol protocol_from_name(std::string_view name) {
  for (const Protocol p : {Protocol::gptq, Protocol::llamacpp, Protocol::words})
    if (protocol_name(p) == name) return p;
  fail(Fault::user, "unknown protocol '", name, "' (known: gptq, llamacpp, words)");
}

std::string_view protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::gptq:
      return "gptq";
    case Protocol::llamacpp:
      return "llamacpp";
    case Protocol::words:
      return "words";
  }
  return "";
}

std::vector<TextMeasure> measure_text(const std::vector<text::Scorer*>& models,
                                      text::Scorer* reference, const text::Tokenizer& tokenizer,
                                      std::string_view text, const std::string& name,
                                      const PerplexityOptions& options, const Advance& advance) {
  CUPEL_ASSERT(!models.empty());
  const auto blocks = blocks_of(tokenizer, text, name, options, common_length(models, reference));
  std::vector<Tally> tallies(models.begin(), models.end());
  const auto own = std::find(models.begin(), models.end(), reference);
  Tally* of_reference =
      own == models.end() ? nullptr : &tallies[static_cast<std::size_t>(own - models.begin())];
  std::vector<float> reference_logits;
  int64_t done = 0;
  for (const Block& block : blocks) {
    if (of_reference)
      of_reference->score(block, nullptr, &reference_logits);
    else if (reference)
      Tally(reference).score(block, nullptr, &reference_logits);
    for (std::size_t i = 0; i < models.size(); ++i)
      if (!reference || models[i] != reference)
        tallies[i].score(block, reference ? &reference_logits : nullptr, nullptr);
    if (advance) advance(++done, static_cast<int64_t>(blocks.size()));
  }
  const std::string scored =
      options.protocol == Protocol::words ? scored_text(tokenizer, text, blocks, options) : "";
  std::vector<TextMeasure> out;
  for (std::size_t i = 0; i < models.size(); ++i) {
    // A reference listed twice is scored once, too.
    const Tally& tally = reference && models[i] == reference ? *of_reference : tallies[i];
    out.push_back({options.protocol == Protocol::words ? tally.result(name, options, scored)
                                                       : tally.result(name, options),
                   {}});
    if (reference && models[i] != reference)
      out.back().divergence = tally.divergence(reference->description());
  }
  return out;
}

}  // namespace cupel::eval
