// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>

namespace cupel::export_ {

/// Writes tokenizer.json in parts that Hugging Face's package knows, tokenizer_config.json and
/// generation_config.json. `tokenizer_json` is a checkpoint's. Where its parts are SentencePiece's,
/// the ids of the written one are compared on texts made from the vocabulary, and the log says what
/// came out.
void write_hf_tokenizer(const std::string& folder, const std::string& tokenizer_json);

/// Copies the tokenizer.model of a Hugging Face folder, if `from` is one that has it, to `to`.
void copy_tokenizer_model(const std::string& from, const std::string& to);

}  // namespace cupel::export_
