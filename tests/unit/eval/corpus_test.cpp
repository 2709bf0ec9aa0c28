// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/corpus.h"

#include <cmath>

#include "eval/perplexity.h"
#include "eval/wikitext.h"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using namespace test;

// Results of lm-eval 0.4.13's wikitext_detokenizer and of its word count.
TEST(Wikitext, DetokenizesLikeLmEval) {
  const struct {
    const char *page, *text;
    int64_t words;
  } cases[] = {
      {"the dogs ' bone", "the dogs' bone", 4},
      {"x /' 7/ y", "x /'[0-9]/ y", 4},
      {"a @-@ b 1 @,@ 000 3 @.@ 5", "a-b 1,000 3.5", 9},
      {"x : y ; z . A ! B ? C , D", "x: y; z. A! B? C, D", 13},
      {"( a ) [ b ] { c } ( ( d ) e )", "(a) [b] {c} (( d) e )", 15},
      {"\" quote \" and ' single '", "\"quote\" and'single'", 7},
      {"= = = = T = = = = = = = S = = = = = U = =", "==== T ======= S ===== U ==", 21},
      {"5 \xC2\xB0 C",
       "5\xC2\xB0"
       "C",
       3},
      {"line \n next", "line\nnext", 2},
      {"take N times it 's", "take 1 times it's", 5},
      {"( \xE3\x80\x80wide\xE2\x80\x83 )", "(wide)", 3},
      {"(  )", "()", 2},
      {"( open", "( open", 2},
      {"' unbalanced", "' unbalanced", 2},
      {"a  ,  b", "a ,  b", 3},
      {" = Title = \n \n Text", " = Title =\n\nText", 5},
      {"\" a \n b \" c \" d", "\"a\nb\" c \" d", 7},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(wikitext_detokenized(c.page), c.text);
    EXPECT_EQ(count_space_separated(c.page), c.words) << c.page;
  }
}

TEST(Corpus, PagesBecomeDocuments) {
  const Corpus c = page_corpus(
      "p.jsonl", "{\"page\": \"a , b\", \"id\": 1}\n\n{\"page\":\"c\\n\"}\r\n{\"page\":\"\"}", 0);
  ASSERT_EQ(c.documents.size(), 3u);
  EXPECT_TRUE(c.pages);
  EXPECT_EQ(c.documents[0].text, "a, b");
  EXPECT_EQ(c.documents[0].words, 3);
  EXPECT_EQ(c.documents[0].bytes, 5);  // of the original
  EXPECT_EQ(c.documents[1].text, "c\n");
  EXPECT_EQ(c.documents[1].words, 2);
  EXPECT_EQ(c.documents[2].words, 1);
  EXPECT_EQ(page_corpus("p", "{\"page\":\"a\"}\n{\"page\":\"b\"}\nnot JSON", 2).documents.size(),
            2u);
}

TEST(Corpus, BrokenLinesAreNamed) {
  const auto fails = [](std::string_view text, int64_t limit) {
    return error_of([&] { page_corpus("p.jsonl", text, limit); });
  };
  Error e = fails("{\"page\":\"a\"}\n{\"page\":", 0);
  EXPECT_EQ(e.fault(), Fault::data);
  EXPECT_EQ(e.message(), "the line is not JSON");
  EXPECT_EQ(e.trail().at(0), "reading line 2 of 'p.jsonl'");
  EXPECT_EQ(fails("{\"text\":\"a\"}", 0).message(), "the line has no text 'page'");
  EXPECT_EQ(fails("{\"page\":3}", 0).message(), "the line has no text 'page'");
  EXPECT_EQ(fails("[1]", 0).message(), "the line has no text 'page'");
  EXPECT_EQ(fails("\n\n", 0).message(), "'p.jsonl' has no documents");
  e = fails("{\"page\":\"a\"}", 2);
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(), "'p.jsonl' has 1 documents, fewer than the 2 asked for");
}

TEST(Corpus, FilesByTheirNames) {
  EXPECT_EQ(error_of([] { read_corpus("no-such-file.txt", 0); }).fault(), Fault::user);
  EXPECT_EQ(error_of([] { read_corpus("t.txt", 2); }).message(),
            "'t.txt' is one document; a number of documents needs a .jsonl file of pages");
}

TextJob pages_job(FakeScorer& scorer, const text::Tokenizer& tokenizer, Protocol protocol) {
  TextJob job;
  job.models = {&scorer};
  job.tokenizer = &tokenizer;
  job.corpus =
      page_corpus("p.jsonl", "{\"page\":\"aa , bb\"}\n{\"page\":\"c\"}\n{\"page\":\"d e f g\"}", 0);
  job.options = {protocol, 4, 0};
  return job;
}

TEST(Pages, SumsOverDocuments) {
  FakeScorer scorer = uniform();
  const LetterTokenizer tokenizer;
  const auto r = measure_text(pages_job(scorer, tokenizer, Protocol::words)).at(0).perplexity;
  // Detokenized texts "aa, bb", "c" and "d e f g" have 6, 1 and 7 tokens; the pages 3 + 1 + 4 words
  // and 7 + 1 + 7 bytes.
  EXPECT_EQ(r.tokens, 14);
  EXPECT_EQ(r.words, 8);
  EXPECT_EQ(r.bytes, 15);
  EXPECT_NEAR(r.value, std::exp(14 * std::log(29) / 8), 1e-8);
  EXPECT_NEAR(r.byte_perplexity.value, std::exp(14 * std::log(29) / 15), 1e-9);
  EXPECT_NEAR(r.bits_per_byte.value, 14 * std::log2(29) / 15, 1e-9);
  EXPECT_EQ(r.error_over, "documents");
  // Every document has its own prefix.
  EXPECT_EQ(r.list.blocks,
            (std::vector<BlockPlace>{{0, -1, 4}, {0, 1, 2}, {1, -1, 1}, {2, -1, 4}, {2, 2, 3}}));
  EXPECT_EQ(scorer.calls.at(2).ids, (Tokens{LetterTokenizer::kEos}));
  // Samples are documents: nll 6, 1, 7 and words 3, 1, 4, in units of log 29.
  const double ratio = 14.0 / 8, a = 6 - 3 * ratio, b = 1 - ratio, c = 7 - 4 * ratio;
  EXPECT_NEAR(*r.error / r.value, std::log(29) * std::sqrt(1.5 * (a * a + b * b + c * c)) / 8,
              1e-9);
}

TEST(Pages, OtherProtocolsReadOneText) {
  FakeScorer scorer = uniform();
  const LetterTokenizer tokenizer;
  EXPECT_EQ(error_of([&] { measure_text(pages_job(scorer, tokenizer, Protocol::gptq)); }).message(),
            "the protocol 'gptq' reads one plain text, but 'p.jsonl' is a file of 3 pages; use the "
            "protocol 'words'");
  TextJob job = pages_job(scorer, tokenizer, Protocol::words);
  job.blocks = measure_text(job).at(0).perplexity.list;
  job.blocks_file = "f";
  EXPECT_EQ(measure_text(job).at(0).perplexity.tokens, 14);  // all of them
  job.blocks->blocks.pop_back();
  EXPECT_EQ(error_of([&] { measure_text(job); }).message(),
            "'f' lists 4 blocks of 'p.jsonl', not all: the words of pages are counted whole");
  job.blocks.reset();
  job.options.blocks = 2;
  EXPECT_EQ(error_of([&] { measure_text(job); }).message(),
            "a number of blocks would cut the pages of 'p.jsonl' apart, whose words are counted "
            "whole; give a number of documents");
}

}  // namespace
}  // namespace cupel::eval
