// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "support.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

using test::Parts;

TEST(Tokenizer, InvalidBytesBecomeReplacementCharacters) {
  Parts parts;
  parts.model = R"({"type":"BPE","vocab":{"a":0,"�":1},"merges":[]})";
  EXPECT_EQ(test::tokenizer(parts)->encode("a\xE2\x82\xFF"), (std::vector<Token>{0, 1, 1}));
}

TEST(Tokenizer, EmptyTextHasNoTokens) {
  Parts parts;
  parts.normalizer = R"({"type":"Prepend","prepend":"▁"})";
  EXPECT_TRUE(test::tokenizer(parts)->encode("").empty());
  EXPECT_EQ(test::tokenizer(parts)->decode({}), "");
}

TEST(Tokenizer, SkipsUnknownIdsWhenDecoding) {
  EXPECT_EQ(test::tokenizer({})->decode(std::vector<Token>{-1, 1 << 20, 'b' - ' '}), "b");
}

TEST(Tokenizer, PiecesAreTheSameWithAndWithoutTheCache) {
  Parts parts;
  parts.pre_tokenizer =
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
  const auto t = test::tokenizer(parts);
  std::mt19937 random(3);
  std::string text;
  std::vector<Token> apart;
  while (text.size() < 40000) {  // large enough for the cache
    std::string word = " ";
    for (std::size_t n = 1 + random() % 6; n > 0; --n) word += "helo"[random() % 4];
    const auto ids = t->encode(word);
    apart.insert(apart.end(), ids.begin(), ids.end());
    text += word;
  }
  EXPECT_EQ(t->encode(text), apart);
}

TEST(Tokenizer, ManyThreadsShareOne) {
  Parts parts;
  parts.pre_tokenizer =
      R"({"type":"Split","pattern":{"Regex":"\\s+"},"behavior":"Isolated","invert":false})";
  const auto t = test::tokenizer(parts);
  const std::string text = "hello hell  he\n";
  const auto expected = t->encode(text);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) EXPECT_EQ(t->encode(text), expected);
    });
}

TEST(Tokenizer, NamesWhatIsWrong) {
  const auto message = [](const std::string& json) {
    const Error e = test::error_of([&] { Tokenizer::from_json(json); });
    EXPECT_EQ(e.fault(), Fault::data) << json;
    return e.message();
  };
  const auto has = [&](const std::string& json, const char* what) {
    const std::string m = message(json);
    EXPECT_NE(m.find(what), std::string::npos) << m;
  };
  has("{", "JSON is broken at byte");
  has("[]", "must be an object");
  has("{}", "'model' is missing");
  has(R"({"model":{"type":"WordPiece","vocab":{}}})", "type 'WordPiece' is not supported");
  has(R"({"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}})", "model.vocab");
  has(R"({"model":{"type":"BPE","vocab":{"a":99999999999},"merges":[]}})", "out of range");
  has(R"({"model":{"type":"BPE","vocab":{"a":2000000},"merges":[]}})", "out of range");
  has(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[["a"]]}})", "model.merges");
  has(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[],"speed":1}})",
      "key 'speed' is not known");
  has(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"segmenter":{}})",
      "key 'segmenter' is not known");
  has(R"({"version":"2.0","model":{"type":"BPE","vocab":{"a":0},"merges":[]}})", "version '2.0'");
  Parts parts;
  parts.cupel = R"({"bos":100000})";
  has(parts.json(), "cupel: id 100000");
  has(std::string(200, '[') + std::string(200, ']'), "nested deeper");
}

TEST(Tokenizer, DamagedFilesNeverCrash) {
  Parts parts;
  parts.added_tokens = R"([{"id":200,"content":"<s>","special":true,"normalized":false}])";
  parts.pre_tokenizer =
      R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true})";
  const std::string good = parts.json();
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (std::size_t n = 1 + random() % 3; n > 0; --n)
      bad[random() % bad.size()] = "\"{}[]:,0a\\ "[random() % 11];
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    try {
      Tokenizer::from_json(bad)->encode("hello <s> x");
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::data) << e.what();
    }
  }
}

}  // namespace
}  // namespace cupel::text
