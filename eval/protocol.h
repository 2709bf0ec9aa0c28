// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string_view>

namespace cupel::eval {

/// How a text becomes scored blocks (docs/evaluation.md). Numbers are comparable only within one
/// protocol, length and text.
///   gptq      encoded once, cut into blocks of `length`, the tail dropped; every block alone; mean
///             of the block means over its length - 1 targets.
///   llamacpp  the same blocks, but the first token of each becomes BOS where the tokenizer adds
///             one, and only the predictions of positions length / 2 .. length - 2 count.
///   words     rolling log-likelihood of whole documents (each token scored once, in windows of
///             `length`), per word and per byte (lm-eval's `wikitext`).
enum class Protocol { gptq, llamacpp, words };
Protocol protocol_from_name(std::string_view name);  ///< Fault::user for an unknown name
std::string_view protocol_name(Protocol protocol);

/// What stands before a document in the protocol `words`, where the tokenizer adds BOS by itself.
///   once    BOS, and the text without it.
///   compat  BOS, and the text with its own BOS, which is scored: what lm-eval 0.4.13 does.
enum class RollingBos { once, compat };
RollingBos rolling_bos_from_name(std::string_view name);  ///< Fault::user for an unknown name
std::string_view rolling_bos_name(RollingBos bos);

struct PerplexityOptions {
  Protocol protocol = Protocol::gptq;
  int64_t length = 2048;
  int64_t blocks = 0;  ///< the first ones; 0 is all
  RollingBos bos = RollingBos::once;
};

}  // namespace cupel::eval
