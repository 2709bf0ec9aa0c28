// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/byte_tokenizer.h"

#include <nlohmann/json.hpp>

namespace cupel::text {

namespace {

std::string utf8_of(unsigned code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

/// The byte-level alphabet: printable bytes stand for themselves, the other 68 for U+0100.. in byte
/// order.
bool stands_for_itself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

}  // namespace

std::string byte_tokenizer_json() {
  nlohmann::ordered_json vocab;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte)
    vocab[utf8_of(stands_for_itself(byte) ? byte : next++)] = byte;
  const nlohmann::ordered_json byte_level = {{"type", "ByteLevel"},
                                             {"add_prefix_space", false},
                                             {"trim_offsets", true},
                                             {"use_regex", false}};
  const nlohmann::ordered_json json = {
      {"version", "1.0"},
      {"added_tokens",
       {{{"id", 256},
         {"content", "<|end|>"},
         {"single_word", false},
         {"lstrip", false},
         {"rstrip", false},
         {"normalized", false},
         {"special", true}}}},
      {"normalizer", nullptr},
      {"pre_tokenizer", byte_level},
      {"post_processor", nullptr},
      {"decoder", byte_level},
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", nlohmann::ordered_json::array()}}},
      {"cupel",
       {{"bos", nullptr}, {"end_tokens", {256}}, {"chat_template", ""}, {"add_bos", false}}}};
  return json.dump();
}

}  // namespace cupel::text
