// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "eval/protocol.h"
#include "text/tokenizer.h"

namespace cupel::eval {

/// Where a block lies: it starts with token `first` of its document's tokens (-1: the prefix before
/// them), and its last `count` tokens are scored.
struct BlockPlace {
  int64_t document = 0, first = 0, count = 0;
  auto operator<=>(const BlockPlace&) const = default;
};

/// Which tokens of which text were scored, and how: what a second run needs to score the same.
struct BlockList {
  Protocol protocol = Protocol::gptq;
  int64_t length = 0;
  RollingBos bos = RollingBos::once;
  std::string text_sha256;  ///< of the file
  std::string ids_sha256;   ///< of the text's token ids (int32, little endian; each document's
                            ///< preceded by their number as int64)
  int64_t text_tokens = 0, documents = 0;
  std::vector<BlockPlace> blocks;
  /// What stands before the text that is not of it: the tokens that the tokenizer adds (gptq), what
  /// overwrites the first token of each block (llamacpp), what each document starts with (words).
  std::vector<text::Token> prepended;
};

/// The object that results and reference files carry: protocol, length, rolling_bos (words only),
/// prepended, text: {sha256, ids_sha256, tokens, documents}, block_list: [{document, first,
/// count}].
std::string block_list_json(const BlockList& list);
/// Reads it back, from an object that may hold more; `prepended` is for people. Fault::data names
/// what is missing or wrong.
BlockList block_list_from_json(std::string_view json);

/// The list of the text with this SHA-256 in a file that `cupel eval --json` wrote (one result or
/// several). Fault::data when it is no such file, Fault::user when it has no list of that text.
BlockList find_block_list(std::string_view json, const std::string& file,
                          const std::string& text_sha256);

/// Fault::user unless both are of the same text, tokens and protocol; `theirs` names the other's
/// file. Their blocks may differ.
void check_same_text(const BlockList& ours, const BlockList& other, const std::string& theirs);

}  // namespace cupel::eval
