// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/sampler.h"
#include "runtime/session.h"

namespace cupel::runtime {

/// Guesses the tokens that come next, for a session to check many in one step. A guess never
/// changes what is generated, only how fast: each token is picked from the model's own logits, by a
/// draw that depends on its position alone, and a guess that differs from it is dropped. So the
/// output is that of generation without a draft, token by token, at every temperature.
/// Source: "Fast Inference from Transformers via Speculative Decoding"; the common draws replace
/// its acceptance test.
class Draft {
 public:
  virtual ~Draft() = default;
  /// Before the first proposal for a new prompt.
  virtual void start(const text::SamplingOptions& sampling) = 0;
  /// At most `most` tokens to follow `history`; fewer, or none, where it has no idea.
  virtual std::vector<text::Token> propose(std::span<const text::Token> history, int64_t most) = 0;
};

/// What followed the longest earlier occurrence of the latest tokens, if at least `kLeast` of them
/// agree. Costs nothing; helps where text repeats itself or its prompt.
class LookupDraft : public Draft {
 public:
  static constexpr std::size_t kLeast = 3, kMost = 16;
  void start(const text::SamplingOptions&) override {}
  std::vector<text::Token> propose(std::span<const text::Token> history, int64_t most) override;
};

/// A smaller model with the same tokenizer: what it would say by the same draws.
class ModelDraft : public Draft {
 public:
  /// Fault::user, with the first token that differs, when the vocabularies are not the same.
  ModelDraft(std::shared_ptr<const Model> model, const SessionOptions& options,
             const Model& target);
  void start(const text::SamplingOptions& sampling) override;
  std::vector<text::Token> propose(std::span<const text::Token> history, int64_t most) override;

 private:
  Session session_;
  Sampler sampler_;
  int64_t choices_;  ///< tokens of the tokenizer
};

}  // namespace cupel::runtime
