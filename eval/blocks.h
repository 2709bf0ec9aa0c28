// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <vector>

#include "eval/block_list.h"
#include "eval/corpus.h"
#include "text/tokenizer.h"

namespace cupel::eval {

/// A sequence to score: the model reads `ids`; position p >= from predicts targets[p - from], one
/// target for each.
struct Block {
  std::vector<text::Token> ids;
  int64_t from = 0;
  std::vector<text::Token> targets;
  BlockPlace place;
};

/// A corpus cut by a protocol, and the list that says so.
struct TextBlocks {
  std::vector<Block> blocks;
  BlockList list;
};

/// `limit` is the longest sequence that the model takes. With `--blocks` only the first blocks.
/// Fault::user when there is less than one block, when a protocol that cuts one text gets several
/// documents, or when blocks would cut pages apart whose words are counted whole.
TextBlocks blocks_of(const text::Tokenizer& tokenizer, const Corpus& corpus,
                     const PerplexityOptions& options, int64_t limit);

/// Keeps the blocks that `list` names (of `file`, for messages), in its order. Fault::user when the
/// list is of another text, tokenizer or protocol, or names a block that is not there.
void keep_listed(TextBlocks& all, const BlockList& list, const std::string& file);

}  // namespace cupel::eval
