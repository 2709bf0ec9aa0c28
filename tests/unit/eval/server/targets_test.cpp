// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/targets.h"

#include "eval/softmax.h"
#include "fakes.h"

namespace cupel::eval {
namespace {

using test::error_of;
using test::LetterTokenizer;

/// Expects the next letter of the alphabet, more or less by the position.
std::vector<float> next_letter(const test::Tokens& ids, int64_t p) {
  auto out = test::one_hot((ids[static_cast<std::size_t>(p)] + 1) % 27, 2);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] += 0.1f * static_cast<float>((i * 7 + static_cast<std::size_t>(p) * 3) % 11);
  return out;
}

/// The same model, which hands over its blocks backwards.
class Backwards final : public TargetModel {
 public:
  int64_t max_length() const override { return 1024; }
  std::string description() const override { return "backwards"; }
  void score_blocks(std::span<const Block> blocks, const TargetSink& sink) override {
    for (std::size_t b = blocks.size(); b-- > 0;) {
      std::vector<double> out;
      for (std::size_t t = 0; t < blocks[b].targets.size(); ++t) {
        const auto row = next_letter(blocks[b].ids, blocks[b].from + static_cast<int64_t>(t));
        out.push_back(static_cast<double>(row[static_cast<std::size_t>(blocks[b].targets[t])]) -
                      log_sum_exp(row));
      }
      sink(b, out);
    }
  }
};

TextJob job_of(const LetterTokenizer& tokenizer, Protocol protocol) {
  TextJob job;
  job.tokenizer = &tokenizer;
  job.corpus = plain_corpus("t", "abcdefg hijklmnop qrs tuv wxyz and then the cat sat on a mat");
  job.options = {protocol, 16, 0, RollingBos::once};
  return job;
}

TEST(MeasureTargets, AgreesWithLogitsInEveryProtocol) {
  LetterTokenizer tokenizer;
  tokenizer.has_bos = tokenizer.adds_bos = true;
  for (const Protocol protocol : {Protocol::gptq, Protocol::llamacpp, Protocol::words}) {
    TextJob job = job_of(tokenizer, protocol);
    int64_t seen = 0;
    job.advance = [&](int64_t done, int64_t) { seen = done; };
    Backwards model;
    const PerplexityResult targets = measure_targets(model, job);
    EXPECT_EQ(seen, static_cast<int64_t>(targets.list.blocks.size()));
    test::FakeScorer scorer("logits", next_letter);
    job.models = {&scorer};
    const PerplexityResult logits = measure_text(job)[0].perplexity;
    EXPECT_EQ(targets.value, logits.value);
    EXPECT_EQ(targets.error, logits.error);
    EXPECT_EQ(targets.tokens, logits.tokens);
    EXPECT_EQ(targets.block_nll, logits.block_nll);
    EXPECT_EQ(targets.bits_per_byte.value, logits.bits_per_byte.value);
    EXPECT_EQ(targets.list.ids_sha256, logits.list.ids_sha256);
    EXPECT_GT(targets.list.blocks.size(), 1u);
  }
}

TEST(MeasureTargets, KeepsTheBlocksOfAList) {
  LetterTokenizer tokenizer;
  TextJob job = job_of(tokenizer, Protocol::gptq);
  Backwards model;
  const PerplexityResult all = measure_targets(model, job);
  job.blocks = all.list;
  job.blocks->blocks = {all.list.blocks[2], all.list.blocks[0]};
  const PerplexityResult some = measure_targets(model, job);
  EXPECT_EQ(some.block_nll, (std::vector<double>{all.block_nll[2], all.block_nll[0]}));
}

TEST(MeasureTargets, WhatNeedsLogitsIsRefused) {
  LetterTokenizer tokenizer;
  TextJob job = job_of(tokenizer, Protocol::gptq);
  Backwards model;
  test::FakeScorer scorer("logits", next_letter);
  job.reference = &scorer;
  Error e = error_of([&] { measure_targets(model, job); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_NE(e.message().find("divergence needs the logits"), std::string::npos);
  job.reference = nullptr;
  job.save_reference = "x.cref";
  e = error_of([&] { measure_targets(model, job); });
  EXPECT_NE(e.message().find("reference file"), std::string::npos);
}

}  // namespace
}  // namespace cupel::eval
