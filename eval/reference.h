// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>

#include "eval/blocks.h"
#include "eval/divergence.h"

namespace cupel::eval {

/// Where the reference's predictions come from: a model that runs beside (measure_text makes that
/// one), or a file (SavedReference).
class Reference {
 public:
  virtual ~Reference() = default;
  /// For people.
  virtual std::string description() const = 0;
  /// Width of a row of logits.
  virtual int64_t vocab() const = 0;
  /// Fault::user or Fault::data unless these blocks can be compared.
  virtual void check(const TextBlocks& blocks, const text::Tokenizer& tokenizer) const = 0;
  /// Gets the predictions of a block ready; `index` counts the blocks of this run.
  virtual void load(const Block& block, std::size_t index) = 0;
  /// Compares a model's logits with row `row` of the block that was loaded last.
  virtual void compare(std::size_t row, std::span<const float> model, const Place& place,
                       DivergenceMeter& meter) = 0;
};

}  // namespace cupel::eval
