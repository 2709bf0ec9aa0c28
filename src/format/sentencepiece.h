// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::format {

/// A SentencePiece model (`tokenizer.model`) in the form of a tokenizer.json.
struct SentencePieceTokenizer {
  std::string json;
  /// "bos_token" and the like, with the piece that has the role.
  std::vector<std::pair<std::string, std::string>> special_tokens;
};

/// Reads the protobuf. Fault::data if it is damaged, another kind of file or of a kind other than
/// BPE and Unigram.
SentencePieceTokenizer read_sentencepiece(std::string_view protobuf);

}  // namespace cupel::format
