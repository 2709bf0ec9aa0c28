// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/byte_level.h"

#include <gtest/gtest.h>

#include <set>

#include "support.h"
#include "text/byte_tokenizer.h"

namespace cupel::text {
namespace {

TEST(ByteLevel, EveryByteHasItsCharacter) {
  EXPECT_EQ(std::set<char32_t>(byte_alphabet().begin(), byte_alphabet().end()).size(), 256u);
  EXPECT_EQ(byte_alphabet()[' '], 0x120u);
  EXPECT_EQ(byte_alphabet()['\n'], 0x10Au);
  EXPECT_EQ(byte_alphabet()[0xAD], 0x143u);
  std::string all, mapped, back;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  append_byte_level(mapped, all);
  append_byte_level_decoded(back, mapped);
  EXPECT_EQ(back, all);
}

TEST(ByteLevel, OtherCharactersStandForThemselves) {
  std::string out;
  append_byte_level_decoded(out, "\u0120\u4e2d");
  EXPECT_EQ(out, "\u0120\u4e2d");
}

TEST(ByteTokenizer, EveryByteIsAToken) {
  const auto t = Tokenizer::from_json(byte_tokenizer_json());
  EXPECT_EQ(t->size(), kByteVocabulary);
  const std::string text = "h\u00e9 \n<|end|>";
  const auto ids = t->encode(text);
  EXPECT_EQ(ids.size(), text.size());
  EXPECT_EQ(ids[1], 0xC3);
  EXPECT_EQ(t->decode(ids), text);
}

}  // namespace
}  // namespace cupel::text
