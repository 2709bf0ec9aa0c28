// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <vector>

#include "eval/divergence.h"

namespace cupel::eval {

/// Finds the most probable tokens of a position; its scratch memory is kept from one to the next.
class TopTokens {
 public:
  explicit TopTokens(int64_t count) : count_(static_cast<std::size_t>(count)) {}
  /// The row that a reference file keeps; best first, the lower id first on ties. All logits must
  /// be finite, at least `count` of them. Valid until the next call.
  TopRow of(std::span<const float> logits, text::Token target);

 private:
  void select(std::span<const float> logits);
  std::size_t count_;
  std::vector<uint64_t> keys_;
  std::vector<double> terms_;
  std::vector<text::Token> ids_;
  std::vector<float> log_p_;
};

}  // namespace cupel::eval
