// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string_view>
#include <vector>

#include "eval/perplexity.h"

namespace cupel::eval {

/// A sequence to score: the model reads `ids`; position p >= from predicts targets[p - from], one
/// target for each.
struct Block {
  std::vector<text::Token> ids;
  int64_t from = 0;
  std::vector<text::Token> targets;
};

/// The text cut by a protocol. `limit` is the longest sequence that the model takes.
std::vector<Block> blocks_of(const text::Tokenizer& tokenizer, std::string_view text,
                             const std::string& name, const PerplexityOptions& options,
                             int64_t limit);

}  // namespace cupel::eval
