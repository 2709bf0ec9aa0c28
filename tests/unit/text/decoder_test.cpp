// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/decoder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.h"

namespace cupel::text {
namespace {

using Strings = std::vector<std::string>;

Strings run(const std::string& json, Strings tokens) {
  const auto j = nlohmann::json::parse(json);
  make_decoder(Part(&j, "decoder"))->apply(tokens);
  return tokens;
}

TEST(Decoder, ByteLevelKeepsBytes) {
  EXPECT_EQ(run(R"({"type":"ByteLevel"})", {"\u0120a", "\u00e2\u0124"}), (Strings{" a\xE2\x82"}));
}

TEST(Decoder, ByteFallback) {
  const std::string json = R"({"type":"ByteFallback"})", bad = "\xEF\xBF\xBD";
  EXPECT_EQ(run(json, {"a", "<0xC3>", "<0xA9>", "b"}), (Strings{"a", "\u00e9", "b"}));
  EXPECT_EQ(run(json, {"<0xC3>", "<0x41>", "b"}), (Strings{bad, bad, "b"}));
  EXPECT_EQ(run(json, {"<0xE2>", "<0x82>"}), (Strings{"\xE2\x82"}));  // may go on
  EXPECT_EQ(run(json, {"<0xFF>"}), (Strings{bad}));
  EXPECT_EQ(run(json, {"<0xZZ>"}), (Strings{"<0xZZ>"}));
}

TEST(Decoder, StripCountsPerToken) {
  EXPECT_EQ(run(R"({"type":"Strip","content":" ","start":1,"stop":0})", {"  a", "b "}),
            (Strings{" a", "b "}));
  EXPECT_EQ(run(R"({"type":"Strip","content":"_","start":0,"stop":2})", {"a___", "_"}),
            (Strings{"a_", ""}));
}

TEST(Decoder, WordPiece) {
  const Strings tokens{"I", "do", "n't", "##x", "know", "."};
  EXPECT_EQ(run(R"({"type":"WordPiece","prefix":"##","cleanup":true})", tokens),
            (Strings{"I", " do", "n't", "x", " know", "."}));
  EXPECT_EQ(run(R"({"type":"WordPiece","prefix":"##","cleanup":false})", tokens),
            (Strings{"I", " do", " n't", "x", " know", " ."}));
}

TEST(Decoder, Metaspace) {
  EXPECT_EQ(run(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true})",
                {"▁a▁b", "▁c"}),
            (Strings{"ab", " c"}));
  EXPECT_EQ(run(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})", {"▁a"}),
            (Strings{" a"}));
}

TEST(Decoder, TheChainOfLlama2) {
  const std::string chain =
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},)"
      R"({"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})";
  EXPECT_EQ(run(chain, {"▁Hello", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"}),
            (Strings{"Hello \U0001F600"}));
}

TEST(Decoder, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(test::error_of([] { run(R"({"type":"CTC"})", {}); }).message(),
            "tokenizer: decoder: type 'CTC' is not supported");
}

}  // namespace
}  // namespace cupel::text
