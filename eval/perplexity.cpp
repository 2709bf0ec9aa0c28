// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/perplexity.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "eval/reference_file.h"
#include "eval/tally.h"

namespace cupel::eval {

namespace {

/// A model that runs beside the others. Its logits of one block are held at a time.
class LiveReference final : public Reference {
 public:
  explicit LiveReference(text::Scorer* scorer) : scorer_(*scorer) {}
  const Tally& tally() const { return tally_; }

  std::string description() const override { return scorer_.description(); }
  int64_t vocab() const override { return scorer_.vocab(); }
  void check(const TextBlocks&, const text::Tokenizer&) const override {}
  void load(const Block& block, std::size_t index) override {
    logits_.clear();
    tally_.score(scorer_, block, index, [&](std::size_t, std::span<const float> row) {
      logits_.insert(logits_.end(), row.begin(), row.end());
    });
  }
  void compare(std::size_t row, std::span<const float> model, const Place& place,
               DivergenceMeter& meter) override {
    const auto width = static_cast<std::size_t>(scorer_.vocab());
    meter.add(std::span(logits_).subspan(row * width, width), model, place);
  }

 private:
  text::Scorer& scorer_;
  Tally tally_;
  std::vector<float> logits_;
};

/// Longest sequence that every model takes. Divergence needs logits of one width.
int64_t common_length(const TextJob& job, const Reference* reference) {
  int64_t limit = job.reference ? job.reference->max_length() : job.models[0]->max_length();
  for (const text::Scorer* m : job.models) {
    limit = std::min(limit, m->max_length());
    CUPEL_CHECK(!reference || m->vocab() == reference->vocab(), user,
                "the vocabularies differ: ", reference->vocab(), " logits in ",
                reference->description(), ", ", m->vocab(), " in ", m->description(),
                "; divergence needs the same tokenizer");
  }
  return limit;
}

/// One text while it is scored.
class Measurement {
 public:
  explicit Measurement(const TextJob& job) : job_(job), classes_(*job.tokenizer) {
    CUPEL_ASSERT(!job.models.empty() && !(job.reference && job.saved));
    if (job.reference) live_.emplace(job.reference);
    reference_ = live_ ? &*live_ : job.saved;
    text_ = blocks_of(job, common_length(job, reference_));
    if (reference_) reference_->check(text_, *job.tokenizer);
    tallies_.resize(job.models.size());
    meters_.resize(job.models.size());
  }

  void run(ReferenceWriter* writer) {
    const auto all = static_cast<int64_t>(text_.blocks.size());
    for (std::size_t b = 0; b < text_.blocks.size(); ++b) {
      if (reference_) reference_->load(text_.blocks[b], b);
      for (std::size_t i = 0; i < job_.models.size(); ++i)
        if (!is_reference(i)) score(i, b, writer);
      if (job_.advance) job_.advance(static_cast<int64_t>(b) + 1, all);
    }
  }

  /// Scores, and keeps the predictions of the only model.
  void run_and_save() {
    CUPEL_CHECK(job_.models.size() == 1 && !is_reference(0), user,
                "a reference file is made by one model");
    const text::Scorer& model = *job_.models[0];
    const int64_t vocab = model.vocab();
    const ReferenceHeader header{model.description(),
                                 job_.corpus.name,
                                 vocabulary_sha256(*job_.tokenizer),
                                 vocab,
                                 std::min(kReferenceTokens, vocab),
                                 text_.list};
    write_atomic_with(job_.save_reference, [&](const std::string& file) {
      ReferenceWriter writer(file, job_.save_reference, header);
      run(&writer);
      writer.finish();
    });
  }

  std::vector<TextMeasure> results() const {
    std::vector<TextMeasure> out;
    for (std::size_t i = 0; i < job_.models.size(); ++i) {
      // A reference listed twice is scored once, too.
      const Tally& tally = is_reference(i) ? live_->tally() : tallies_[i];
      out.push_back({tally.result(job_.corpus, text_.list, *job_.tokenizer), {}});
      if (reference_ && !is_reference(i))
        out.back().divergence = meters_[i].result(reference_->description());
    }
    return out;
  }

 private:
  bool is_reference(std::size_t i) const { return live_ && job_.models[i] == job_.reference; }

  void score(std::size_t i, std::size_t b, ReferenceWriter* writer) {
    const Block& block = text_.blocks[b];
    tallies_[i].score(*job_.models[i], block, b,
                      [&](std::size_t row, std::span<const float> logits) {
                        const text::Token target = block.targets[row];
                        if (writer) writer->add(logits, target);
                        if (!reference_) return;
                        const std::size_t position = static_cast<std::size_t>(block.from) + row;
                        const Place place{target, static_cast<int64_t>(position) + 1,
                                          classes_.of(block.ids[position], target)};
                        reference_->compare(row, logits, place, meters_[i]);
                      });
  }

  const TextJob& job_;
  TokenClasses classes_;
  TextBlocks text_;
  std::optional<LiveReference> live_;
  Reference* reference_ = nullptr;
  std::vector<Tally> tallies_;
  std::vector<DivergenceMeter> meters_;
};

}  // namespace

TextBlocks blocks_of(const TextJob& job, int64_t limit) {
  TextBlocks out = blocks_of(*job.tokenizer, job.corpus, job.options, limit);
  if (job.blocks) keep_listed(out, *job.blocks, job.blocks_file);
  int64_t tokens = 0;
  for (const BlockPlace& p : out.list.blocks) tokens += p.count;
  CUPEL_CHECK(!job.corpus.pages || !job.blocks || tokens == out.list.text_tokens, user, "'",
              job.blocks_file, "' lists ", out.blocks.size(), " blocks of '", job.corpus.name,
              "', not all: the words of pages are counted whole");
  return out;
}

std::vector<TextMeasure> measure_text(const TextJob& job) {
  Measurement m(job);
  if (job.save_reference.empty())
    m.run(nullptr);
  else
    m.run_and_save();
  return m.results();
}

std::vector<TextMeasure> measure_text(const std::vector<text::Scorer*>& models,
                                      text::Scorer* reference, const text::Tokenizer& tokenizer,
                                      std::string_view text, const std::string& name,
                                      const PerplexityOptions& options, const Advance& advance) {
  TextJob job;
  job.models = models;
  job.reference = reference;
  job.tokenizer = &tokenizer;
  job.corpus = plain_corpus(name, std::string(text));
  job.options = options;
  job.advance = advance;
  return measure_text(job);
}

}  // namespace cupel::eval
