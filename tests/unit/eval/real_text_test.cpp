// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// WikiText-2 cut by each protocol, where the shared data is at hand: token, block, word and byte
// counts that other harnesses report for the same files.
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "eval/blocks.h"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using test::Tokens;

class RealText : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("CUPEL_SHARED");
    folder_ = (shared ? std::string(shared) : CUPEL_SOURCE_DIR "/../shared") + "/data/";
    const std::string tokenizer = folder_ + "tokenizers/smollm2/tokenizer.json";
    if (!std::filesystem::exists(tokenizer) || !std::filesystem::exists(text("wiki.test.raw")))
      GTEST_SKIP() << "needs data/tokenizers and data/text of $CUPEL_SHARED, unpacked";
    tokenizer_ = text::Tokenizer::from_json(read_text(tokenizer));
  }
  std::string text(const std::string& name) const {
    return folder_ + "text/wikitext-2-raw/" + name;
  }
  TextBlocks cut(const std::string& name, const PerplexityOptions& options) const {
    return blocks_of(*tokenizer_, read_corpus(text(name), 0), options, 8192);
  }

  std::string folder_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

TEST_F(RealText, GptqBlocksOfTheJoinedText) {
  const TextBlocks all = cut("wiki.test.hf-joined.txt", {Protocol::gptq, 2048, 0});
  EXPECT_EQ(all.list.text_tokens, 304978);
  ASSERT_EQ(all.blocks.size(), 148u);
  const auto& ids = all.blocks[0].ids;
  EXPECT_EQ(Tokens(ids.begin(), ids.begin() + 9),
            (Tokens{1116, 446, 6356, 389, 9226, 352, 446, 38028, 16506}));
  EXPECT_EQ(all.list.blocks.back(), (BlockPlace{0, 147 * 2048, 2047}));
}

TEST_F(RealText, LlamaCppChunksOfTheRawFile) {
  const TextBlocks all = cut("wiki.test.raw", {Protocol::llamacpp, 512, 0});
  EXPECT_EQ(all.list.text_tokens, 303415);
  ASSERT_EQ(all.blocks.size(), 592u);
  EXPECT_EQ(all.blocks[1].targets.size(), 255u);
  EXPECT_EQ(all.blocks[1].from, 256);
}

TEST_F(RealText, PagesOfLmEval) {
  const Corpus pages = read_corpus(text("wiki.test.pages.jsonl"), 0);
  ASSERT_EQ(pages.documents.size(), 62u);
  EXPECT_EQ(pages.documents[0].words, 1093);
  EXPECT_EQ(pages.documents[0].bytes, 5667);
  EXPECT_EQ(pages.documents[1].words, 4751);
  EXPECT_EQ(pages.documents[1].bytes, 24540);
  int64_t words = 0, bytes = 0;
  Sha256 hash;
  for (const auto& d : pages.documents) {
    words += d.words;
    bytes += d.bytes;
    hash.add(d.text).add(std::string_view("\0", 1));
  }
  EXPECT_EQ(words, 241335);
  EXPECT_EQ(bytes, 1290527);
  // lm-eval 0.4.13's wikitext_detokenizer, over all pages, each followed by a zero byte.
  EXPECT_EQ(hash.hex(), "da61ba76b9daa5d5964a4e797206bb65bee7dd401fdbc16a83072f8cb94e08db");
}

}  // namespace
}  // namespace cupel::eval
