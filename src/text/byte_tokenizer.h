// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>

namespace cupel::text {

/// The JSON of a tokenizer whose tokens are the 256 bytes, and "<|end|>" (id 256) that ends a text:
/// for models that a recipe trains from nothing.
std::string byte_tokenizer_json();
inline constexpr int kByteVocabulary = 257;

}  // namespace cupel::text
