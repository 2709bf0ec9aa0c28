// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/block_list.h"

#include "eval/blocks.h"
#include "eval/result.h"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using namespace test;

TextJob job_of(FakeScorer& scorer, const text::Tokenizer& tokenizer, const std::string& text,
               const PerplexityOptions& options = {Protocol::gptq, 4, 0}) {
  TextJob job;
  job.models = {&scorer};
  job.tokenizer = &tokenizer;
  job.corpus = plain_corpus("t.txt", text);
  job.options = options;
  return job;
}

std::string json_of(const TextJob& job) {
  EvalResult result;
  result.texts = measure_text(job);
  return to_json(result);
}

TEST(BlockList, JsonReadsBack) {
  const BlockList list{Protocol::words,        7, RollingBos::compat, "aa", "bb", 12, 2,
                       {{0, -1, 7}, {1, 3, 2}}};
  const BlockList back = block_list_from_json(block_list_json(list));
  EXPECT_EQ(back.protocol, list.protocol);
  EXPECT_EQ(back.length, 7);
  EXPECT_EQ(back.bos, RollingBos::compat);
  EXPECT_EQ(back.text_sha256, "aa");
  EXPECT_EQ(back.ids_sha256, "bb");
  EXPECT_EQ(back.text_tokens, 12);
  EXPECT_EQ(back.documents, 2);
  EXPECT_EQ(back.blocks, list.blocks);
}

TEST(BlockList, ASecondRunScoresTheSameBlocks) {
  const LetterTokenizer tokenizer;
  FakeScorer first = repeater(3), second = repeater(3);
  TextJob job = job_of(first, tokenizer, "aabbccddeeffgg");
  const std::string json = json_of(job);
  BlockList list = find_block_list(json, "run.json", job.corpus.sha256);
  ASSERT_EQ(list.blocks.size(), 3u);
  list.blocks = {list.blocks[2], list.blocks[0]};
  TextJob again = job_of(second, tokenizer, "aabbccddeeffgg");
  again.blocks = list;
  again.blocks_file = "run.json";
  const auto r = measure_text(again).at(0).perplexity;
  EXPECT_EQ(r.list.blocks, list.blocks);
  ASSERT_EQ(second.calls.size(), 2u);
  EXPECT_EQ(second.calls[0].ids, first.calls[2].ids);
  EXPECT_EQ(second.calls[1].ids, first.calls[0].ids);
}

TEST(BlockList, FoundByTheTextAmongSeveralResults) {
  const LetterTokenizer tokenizer;
  FakeScorer scorer = uniform();
  const TextJob a = job_of(scorer, tokenizer, "aaaabbbb"), b = job_of(scorer, tokenizer, "cccc");
  const std::string both = "[" + json_of(a) + "," + json_of(b) + "]";
  EXPECT_EQ(find_block_list(both, "f", b.corpus.sha256).blocks.size(), 1u);
  EXPECT_EQ(find_block_list(both, "f", a.corpus.sha256).blocks.size(), 2u);
  EXPECT_EQ(error_of([&] { find_block_list(both, "f", "00"); }).message(),
            "'f' has block lists of other texts only: none has the SHA-256 00");
  EXPECT_EQ(error_of([&] { find_block_list("{}", "f", "00"); }).fault(), Fault::data);
  EXPECT_EQ(error_of([&] { find_block_list("{", "f", "00"); }).message(), "'f' is not JSON");
  const Error e = error_of([&] {
    find_block_list("{\"perplexity\":[{\"protocol\":\"gptq\",\"block_list\":[]}]}", "f", "00");
  });
  EXPECT_EQ(e.fault(), Fault::data);
  EXPECT_EQ(e.message(), "the block list has no 'length'");
}

TEST(BlockList, NumbersAreChecked) {
  const auto message = [](const std::string& block) {
    return error_of([&] {
             block_list_from_json(
                 "{\"protocol\":\"gptq\",\"length\":4,\"text\":{\"sha256\":\"a\",\"ids_sha256\":"
                 "\"b\",\"tokens\":8,\"documents\":1},\"block_list\":[" +
                 block + "]}");
           })
        .message();
  };
  EXPECT_EQ(message("{\"document\":0,\"first\":-2,\"count\":1}"),
            "the block list's 'first' is not a whole number from -1 on");
  EXPECT_EQ(message("{\"document\":0,\"first\":0,\"count\":0}"),
            "the block list's 'count' is not a whole number from 1 on");
  EXPECT_EQ(message("{\"document\":0.5,\"first\":0,\"count\":1}"),
            "the block list's 'document' is not a whole number from 0 on");
  EXPECT_EQ(message(""), "the block list is empty");
}

TEST(BlockList, AnotherTextTokenizerOrProtocolIsRefused) {
  LetterTokenizer tokenizer;
  FakeScorer scorer = uniform();
  const TextJob job = job_of(scorer, tokenizer, "aabbccdd");
  const BlockList list = find_block_list(json_of(job), "f", job.corpus.sha256);
  const auto message = [&](const std::string& text, const PerplexityOptions& options) {
    TextJob other = job_of(scorer, tokenizer, text, options);
    other.blocks = list;
    other.blocks_file = "f";
    const Error e = error_of([&] { measure_text(other); });
    EXPECT_EQ(e.fault(), Fault::user);
    return e.message();
  };
  EXPECT_TRUE(message("aabbccde", {Protocol::gptq, 4, 0}).starts_with("the text's SHA-256 is "));
  EXPECT_EQ(message("aabbccdd", {Protocol::llamacpp, 4, 0}),
            "the protocol is llamacpp, but gptq in 'f'");
  EXPECT_EQ(message("aabbccdd", {Protocol::gptq, 2, 0}),
            "the length of a block is 2, but 4 in 'f'");
  // The same text in other tokens: their number tells, or else their ids.
  tokenizer.has_bos = tokenizer.adds_bos = true;
  EXPECT_EQ(message("aabbccdd", {Protocol::gptq, 4, 0}),
            "the number of tokens in the text is 9, but 8 in 'f'");
  tokenizer.adds_bos = false;
  BlockList forged = list;
  forged.ids_sha256 = "00";
  TextJob other = job;
  other.blocks = forged;
  other.blocks_file = "f";
  EXPECT_EQ(error_of([&] { measure_text(other); }).message(),
            "the text's token ids are not those of 'f': it belongs to another tokenizer");
  forged = list;
  forged.blocks[0].first = 1;
  other.blocks = forged;
  EXPECT_EQ(error_of([&] { measure_text(other); }).message(),
            "'f' lists a block of 3 scored tokens that starts at token 1 of document 0; the text "
            "has none there, or the list names it twice");
}

}  // namespace
}  // namespace cupel::eval
