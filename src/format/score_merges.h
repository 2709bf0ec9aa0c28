// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace cupel::format {

/// A piece of a SentencePiece vocabulary, by its id in a list of all.
struct ScoredPiece {
  std::string_view text;
  float score = 0;
  bool merges = false;  ///< may be joined from others: normal and unused pieces
};
using MergedPair = std::pair<std::string_view, std::string_view>;

/// SentencePiece joins the neighbours whose concatenation has the best score. As ranked pairs:
/// every way to split every piece into two pieces, by the score of the whole, then by longer
/// halves. The pairs view the pieces' texts.
std::vector<MergedPair> score_merges(const std::vector<ScoredPiece>& pieces);

}  // namespace cupel::format
