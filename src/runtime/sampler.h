// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <span>
#include <vector>

#include "text/generator.h"

namespace cupel::runtime {

/// The sampler chain of text::SamplingOptions. The draw depends on (seed, position) alone.
class Sampler {
 public:
  explicit Sampler(const text::SamplingOptions& options) : options_(options) {}
  /// `history` holds the tokens so far (prompt included); `logits` is not changed.
  text::Token pick(std::span<const float> logits, std::span<const text::Token> history);

 private:
  text::SamplingOptions options_;
  std::vector<std::pair<float, text::Token>> candidates_;
};

}  // namespace cupel::runtime
