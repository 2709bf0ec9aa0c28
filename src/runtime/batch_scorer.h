// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/forward.h"
#include "text/scorer.h"

namespace cupel::runtime {

/// Scores many sequences with few forward steps. In the order of their tokens each shares its
/// beginning with the one before, which is computed once; the new tokens of many sequences make one
/// step. The logits are those of Session::score, bit for bit.
class BatchScorer {
 public:
  /// `chunk`: positions of a step at most. All must outlive it.
  BatchScorer(const Model& model, Forward& forward, KvType kv, int64_t context, int64_t chunk);
  ~BatchScorer();

  using Sink = std::function<void(std::size_t, const text::LogitRows&)>;
  void run(std::span<const text::Scorer::Sequence> sequences, const Sink& sink);

 private:
  using Sequence = text::Scorer::Sequence;
  struct Part;  // a segment of the step that is being filled

  void add(std::size_t index, const Sequence& sequence);
  void flush();
  void run_long(const Part& whole);
  void run_step(std::span<const Part> parts);
  void emit(std::span<const Part> parts);
  KvCache* take_cache();
  void check(const Sequence& sequence) const;

  const Model& model_;
  Forward& forward_;
  KvType kv_;
  int64_t context_, chunk_;
  std::vector<std::unique_ptr<KvCache>> caches_;
  std::vector<KvCache*> free_;
  std::vector<Part> parts_;
  int64_t rows_ = 0, kv_bytes_ = 0;  // of parts_
  KvCache* last_ = nullptr;          // holds last_ids_, or will after the step
  KvCache* retired_ = nullptr;       // free after the step
  std::span<const text::Token> last_ids_;
  const Sink* sink_ = nullptr;
  Buffer<float> logits_;
};

}  // namespace cupel::runtime
