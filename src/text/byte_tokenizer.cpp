// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/byte_tokenizer.h"

#include <nlohmann/json.hpp>

#include "text/byte_level.h"

namespace cupel::text {

std::string byte_tokenizer_json() {
  nlohmann::ordered_json vocab;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string character;
    append_byte_level(character, std::string(1, static_cast<char>(byte)));
    vocab[character] = byte;
  }
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
