// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/kv_row.h"
#include "runtime/model.h"
#include "runtime/thread_pool.h"
#include "text/generator.h"
#include "text/scorer.h"

namespace cupel::runtime {

using kernels::KvType;
class Draft;

struct SessionOptions {
  int threads = 0;  ///< 0: usable_processors()
  /// Positions of the KV cache; 0: the model's, at most 4096. Never more than the model's, except
  /// with dynamic rope, which is made to go beyond.
  int64_t context = 0;
  KvType kv = KvType::f16;
  int64_t prompt_chunk =
      256;  ///< positions per forward step of a prompt; never changes a bit of the result
};

/// One sequence on a model: KV cache and scratch. The cache grows in pages, so memory follows the
/// length used. Not thread-safe.
class Session final : public text::Generator, public text::Scorer {
 public:
  Session(std::shared_ptr<const Model> model, const SessionOptions& options);
  ~Session() override;

  /// Appends tokens and returns the logits of the last `keep` of them, [keep, vocab], valid until
  /// the next call. Rope that depends on the length goes by that after all of them; where it asks
  /// for it (longrope), the cache is computed again. Fault::user when the context is full,
  /// Fault::data for a token outside the vocabulary.
  std::span<const float> forward(std::span<const text::Token> ids, int64_t keep);
  int64_t position() const;
  /// Forgets everything after `position`; O(1). Fault::user for a position that was not reached.
  void rewind(int64_t position);
  /// Rewinds to the longest beginning of `ids` that the cache already holds, at most `limit`
  /// tokens, and returns its length: what is computed again after it has the same bits as before.
  int64_t keep_prefix(std::span<const text::Token> ids, int64_t limit);

  /// From now on generate() lets `draft` guess up to `tokens` at a time and checks them in one
  /// step; null: no more. What is generated stays the same (draft.h). Fault::user for a model
  /// whose angles depend on the length of the sequence: there, a step of several tokens is not the
  /// same as several steps.
  void set_draft(std::shared_ptr<Draft> draft, int64_t tokens);

  /// Text needs the model's tokenizer; without one only tokens are generated and stop texts are a
  /// Fault::user. An empty prompt becomes the BOS token where there is one.
  text::Generation generate(std::span<const text::Token> prompt,
                            const text::GenerateOptions& options,
                            const std::function<bool(std::string_view)>& on_text) override;

  int64_t vocab() const override;
  int64_t max_length() const override;
  std::string description() const override;
  void score(std::span<const text::Token> ids, int64_t from, const text::LogitSink& sink) override;
  /// Many sequences in one forward step, beginnings shared; the bits of score(). Leaves the
  /// session's own sequence alone.
  void score_many(std::span<const Sequence> sequences,
                  const std::function<void(std::size_t, const text::LogitRows&)>& sink) override;

  const Model& model() const;
  int64_t kv_position_bytes() const;  ///< of one position
  int64_t kv_bytes() const;           ///< held by the positions in use
  int64_t kv_bytes_read() const;      ///< read from the cache by a step at this position

 private:
  void start_draft(const text::SamplingOptions& sampling);
  std::vector<text::Token> guesses(std::span<const text::Token> history, int64_t most);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cupel::runtime
