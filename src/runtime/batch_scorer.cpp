// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/batch_scorer.h"

#include <algorithm>

#include "base/error.h"

namespace cupel::runtime {
namespace {

// Keys and values that the sequences of one step may hold together, copies of beginnings included.
constexpr int64_t kKvBytes = 256 << 20;
// Rows of logits at a time; enough of them that the head's weights are unpacked for many rows.
constexpr int64_t kLogitBytes = 16 << 20, kLeastLogitRows = 8;

int64_t common_prefix(std::span<const text::Token> a, std::span<const text::Token> b,
                      int64_t most) {
  const auto n = std::min({static_cast<int64_t>(a.size()), static_cast<int64_t>(b.size()), most});
  int64_t same = 0;
  while (same < n && a[static_cast<std::size_t>(same)] == b[static_cast<std::size_t>(same)]) ++same;
  return same;
}

}  // namespace

struct BatchScorer::Part {
  std::size_t index;  // of the sequence
  int64_t from;       // first position whose logits are wanted
  Segment segment;
};

BatchScorer::BatchScorer(const Model& model, Forward& forward, KvType kv, int64_t context,
                         int64_t chunk)
    : model_(model), forward_(forward), kv_(kv), context_(context), chunk_(chunk) {}
BatchScorer::~BatchScorer() = default;

void BatchScorer::run(std::span<const Sequence> sequences, const Sink& sink) {
  sink_ = &sink;
  for (const std::size_t i : text::token_order(sequences)) {
    check(sequences[i]);
    if (sequences[i].from < static_cast<int64_t>(sequences[i].ids.size())) add(i, sequences[i]);
  }
  flush();
}

void BatchScorer::check(const Sequence& sequence) const {
  const auto n = static_cast<int64_t>(sequence.ids.size());
  CUPEL_CHECK(n <= context_, user, "a sequence of ", n, " tokens does not fit the context of ",
              context_);
  CUPEL_CHECK(sequence.from >= 0 && sequence.from <= n, user, "logits from position ",
              sequence.from, " of ", n, " asked for");
  for (const text::Token id : sequence.ids)
    CUPEL_CHECK(id >= 0 && id < model_.config().vocab, data, "token ", id,
                " lies outside the vocabulary of ", model_.config().vocab,
                "; the tokenizer does not belong to this model");
}

KvCache* BatchScorer::take_cache() {
  if (free_.empty()) {
    caches_.push_back(std::make_unique<KvCache>(model_.config(), kv_, context_));
    free_.push_back(caches_.back().get());
  }
  KvCache* out = free_.back();
  free_.pop_back();
  return out;
}

void BatchScorer::add(std::size_t index, const Sequence& sequence) {
  const auto n = static_cast<int64_t>(sequence.ids.size());
  const int64_t shared = last_ ? common_prefix(last_ids_, sequence.ids, sequence.from) : 0;
  const int64_t rows = n - shared;
  KvCache* cache = take_cache();
  const int64_t bytes = cache->bytes_held(n);
  if (!parts_.empty() && (rows_ + rows > chunk_ || kv_bytes_ + bytes > kKvBytes)) flush();
  const Segment segment{.ids = sequence.ids.subspan(static_cast<std::size_t>(shared)),
                        .cache = cache,
                        .first = shared,
                        .length = n,
                        .parent = shared > 0 ? last_ : nullptr};
  // Of the sequences that are done only the last one's cache was kept, and only this sequence can
  // still begin as that one does.
  if (parts_.empty()) retired_ = last_;
  parts_.push_back({index, sequence.from, segment});
  rows_ += rows;
  kv_bytes_ += bytes;
  last_ = cache;
  last_ids_ = sequence.ids;
}

void BatchScorer::flush() {
  if (parts_.empty()) return;
  if (rows_ > chunk_)
    run_long(parts_.front());
  else
    run_step(parts_);
  for (const Part& p : parts_)
    if (p.segment.cache != last_) free_.push_back(p.segment.cache);
  if (retired_) free_.push_back(retired_);
  retired_ = nullptr;
  parts_.clear();
  rows_ = kv_bytes_ = 0;
}

/// One sequence with more new tokens than a step takes: several steps.
void BatchScorer::run_long(const Part& whole) {
  const std::span<const text::Token> ids = whole.segment.ids;
  const auto chunk = static_cast<std::size_t>(chunk_);
  for (std::size_t begin = 0; begin < ids.size(); begin += chunk) {
    Part part = whole;
    part.segment.ids = ids.subspan(begin, std::min(ids.size() - begin, chunk));
    part.segment.first += static_cast<int64_t>(begin);
    if (begin > 0) part.segment.parent = nullptr;
    run_step({&part, 1});
  }
}

void BatchScorer::run_step(std::span<const Part> parts) {
  std::vector<Segment> step;
  for (const Part& p : parts) step.push_back(p.segment);
  forward_.layers(step);
  emit(parts);
}

void BatchScorer::emit(std::span<const Part> parts) {
  std::vector<int64_t> wanted, positions;
  std::vector<std::size_t> owners;
  int64_t row = 0;
  for (const Part& p : parts) {
    const auto count = static_cast<int64_t>(p.segment.ids.size());
    for (int64_t t = std::max<int64_t>(0, p.from - p.segment.first); t < count; ++t) {
      wanted.push_back(row + t);
      positions.push_back(p.segment.first + t);
      owners.push_back(p.index);
    }
    row += count;
  }
  const int64_t vocab = model_.config().vocab;
  const auto most = static_cast<std::size_t>(std::max(kLeastLogitRows, kLogitBytes / (4 * vocab)));
  for (std::size_t first = 0; first < wanted.size(); first += most) {
    const std::size_t count = std::min(most, wanted.size() - first);
    float* out = logits_.reserve(static_cast<int64_t>(count) * vocab);
    forward_.logits(std::span(wanted).subspan(first, count), out);
    for (std::size_t begin = 0; begin < count;) {
      std::size_t end = begin + 1;
      while (end < count && owners[first + end] == owners[first + begin]) ++end;
      (*sink_)(owners[first + begin], {.first = positions[first + begin],
                                       .rows = static_cast<int64_t>(end - begin),
                                       .vocab = vocab,
                                       .logits = out + static_cast<int64_t>(begin) * vocab});
      begin = end;
    }
  }
}

}  // namespace cupel::runtime
