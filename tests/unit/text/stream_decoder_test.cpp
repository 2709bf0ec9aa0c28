// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <random>

#include "support.h"
#include "text/byte_tokenizer.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

std::vector<std::string> stream(const std::shared_ptr<const Tokenizer>& t,
                                const std::vector<Token>& ids) {
  StreamDecoder decoder(t);
  std::vector<std::string> out;
  for (const Token id : ids) out.push_back(decoder.push(id));
  out.push_back(decoder.finish());
  return out;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& p : parts) out += p;
  return out;
}

TEST(StreamDecoder, WaitsForWholeCharacters) {
  const auto t = Tokenizer::from_json(byte_tokenizer_json());
  EXPECT_EQ(stream(t, {'a', 0xE2, 0x82, 0xAC}),
            (std::vector<std::string>{"a", "", "", "\u20ac", ""}));
  EXPECT_EQ(stream(t, {'a', 0xE2, 0x82}), (std::vector<std::string>{"a", "", "", "\xEF\xBF\xBD"}));
  EXPECT_EQ(stream(t, {0xE2, 'a'}), (std::vector<std::string>{"",
                                                              "\xEF\xBF\xBD"
                                                              "a",
                                                              ""}));
}

TEST(StreamDecoder, GivesWhatTheWholeDecodesTo) {
  const auto t = Tokenizer::from_json(byte_tokenizer_json());
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    std::vector<Token> ids(random() % 12);
    for (Token& id : ids)
      id = static_cast<Token>(random() % 3 ? random() % 257 : 0xE0 + random() % 16);
    EXPECT_EQ(joined(stream(t, ids)), utf8_lossy(t->decode(ids)));
  }
}

TEST(StreamDecoder, KeepsSpacesThatADecoderDropsAtTheStart) {
  test::Parts parts;
  parts.added_tokens = R"([{"id":102,"content":"<s>","special":true,"normalized":false}])";
  parts.normalizer =
      R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]})";
  parts.decoder =
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})";
  const auto t = test::tokenizer(parts);
  std::vector<Token> ids = t->encode("hello he  hell");
  ids.insert(ids.begin() + 2, 102);  // a special token in between changes nothing
  EXPECT_EQ(joined(stream(t, ids)), "hello he  hell");
  EXPECT_EQ(t->decode(ids), "hello he  hell");
}

}  // namespace
}  // namespace cupel::text
