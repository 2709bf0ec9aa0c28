// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

namespace cupel::format {

/// A tokenizer whose parts Hugging Face's package `tokenizers` knows.
struct StandardTokenizer {
  std::string json;
  bool converted = false;  ///< from parts of our own
  /// Why ids can differ from those of the original, one phrase each; empty when only the order of
  /// merges with equal scores can make a difference.
  std::vector<std::string> differences;
};

/// A tokenizer.json with the parts of text/sentencepiece.h replaced by the standard ones that come
/// closest; any other one stays as it is. Fault::data if it is not what text::Tokenizer reads.
StandardTokenizer standard_tokenizer(const std::string& json);

}  // namespace cupel::format
