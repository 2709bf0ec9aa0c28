// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/reference_file.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/cat.h"
#include "eval/perplexity.h"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

using namespace test;
namespace fs = std::filesystem;

const std::string kText = "the quick brown fox jumps over the lazy dog";

/// Logits depend on what was read and where; most of the mass is on low ids.
FakeScorer waves(std::string name, float step, int64_t vocab = LetterTokenizer::kSize) {
  const auto logit = [=](Token read, int64_t p, int64_t v) {
    const auto phase = static_cast<float>((read + 2) * (v % 31 + 1) + p);
    return 3 * std::sin(step * phase) - 0.02f * static_cast<float>(std::min<int64_t>(v, 1000));
  };
  return {std::move(name),
          [=](const Tokens& ids, int64_t p) {
            std::vector<float> out;
            for (int64_t v = 0; v < vocab; ++v)
              out.push_back(logit(ids[static_cast<std::size_t>(p)], p, v));
            return out;
          },
          vocab};
}

class ReferenceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / cat("cupel-reference-", info->name(), "-", ::getpid());
    fs::create_directories(folder_);
    path_ = (folder_ / "base.cref").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  TextJob job(text::Scorer& model, const std::string& text = kText) {
    TextJob job;
    job.models = {&model};
    job.tokenizer = &tokenizer_;
    job.corpus = plain_corpus("t.txt", text);
    job.options = options_;
    return job;
  }
  PerplexityResult save(text::Scorer& model) {
    TextJob j = job(model);
    j.save_reference = path_;
    return measure_text(j).at(0).perplexity;
  }
  DivergenceResult compare(text::Scorer& model) {
    SavedReference saved(path_);
    TextJob j = job(model);
    j.saved = &saved;
    return *measure_text(j).at(0).divergence;
  }
  Error fails(text::Scorer& model, const std::string& text = kText) {
    return error_of([&] {
      SavedReference saved(path_);
      TextJob j = job(model, text);
      j.saved = &saved;
      measure_text(j);
    });
  }
  void rewrite(const std::string& bytes) { write_atomic(path_, bytes); }

  LetterTokenizer tokenizer_;
  PerplexityOptions options_{Protocol::gptq, 8, 0};
  fs::path folder_;
  std::string path_;
};

TEST_F(ReferenceFile, SmallVocabulariesAreKeptWhole) {
  FakeScorer base = waves("base", 0.7f), model = waves("model", 0.9f);
  const PerplexityResult saved = save(base);
  TextJob live = job(model);
  live.reference = &base;
  const DivergenceResult d = *measure_text(live).at(0).divergence, s = compare(model);
  EXPECT_EQ(s.kept_tokens, LetterTokenizer::kSize);
  EXPECT_EQ(s.against, cat("base, saved in '", path_, "'"));
  EXPECT_EQ(s.tokens, d.tokens);
  for (std::size_t i = 0; i < d.kl.size(); ++i) EXPECT_NEAR(s.kl[i], d.kl[i], 1e-6);
  EXPECT_NEAR(s.kl_reverse.value, d.kl_reverse.value, 1e-6);
  EXPECT_EQ(s.same_top1, d.same_top1);
  EXPECT_NEAR(s.delta_p.value, d.delta_p.value, 1e-7);
  EXPECT_NEAR(s.perplexity->reference, saved.value, 1e-5);
  EXPECT_NEAR(s.perplexity->log_ratio.value, d.perplexity->log_ratio.value, 1e-6);
  EXPECT_EQ(compare(base).same_top1, 1);
  EXPECT_LT(compare(base).kl_spread.max, 1e-6);
}

TEST_F(ReferenceFile, LargeVocabulariesKeep256TokensAndTheRest) {
  for (const int64_t vocab : {1000, 70000}) {  // ids of two and of four bytes
    FakeScorer base = waves("base", 0.7f, vocab), model = waves("model", 0.9f, vocab);
    options_.blocks = 2;
    save(base);
    TextJob live = job(model);
    live.reference = &base;
    const DivergenceResult d = *measure_text(live).at(0).divergence, s = compare(model);
    EXPECT_EQ(s.kept_tokens, kReferenceTokens);
    EXPECT_GT(s.kl_mean, 0.9 * d.kl_mean);
    for (std::size_t i = 0; i < d.kl.size(); ++i) EXPECT_LE(s.kl[i], d.kl[i] + 1e-6);
    EXPECT_EQ(s.same_top1, d.same_top1);
    EXPECT_NEAR(s.delta_p_rms.value, d.delta_p_rms.value, 1e-8);
    const int64_t row = 8 + 256 * (vocab > 65536 ? 8 : 6);
    EXPECT_GT(static_cast<int64_t>(fs::file_size(path_)), 14 * row);
    EXPECT_LT(static_cast<int64_t>(fs::file_size(path_)), 14 * row + 1000);
  }
}

TEST_F(ReferenceFile, HeaderTellsWhereItComesFrom) {
  FakeScorer base = waves("base", 0.7f);
  const PerplexityResult r = save(base);
  EXPECT_TRUE(is_reference_file(path_));
  EXPECT_FALSE(is_reference_file(path_ + "x"));
  const SavedReference saved(path_);
  EXPECT_EQ(saved.header().model, "base");
  EXPECT_EQ(saved.header().text_file, "t.txt");
  EXPECT_EQ(saved.header().vocab, LetterTokenizer::kSize);
  EXPECT_EQ(saved.header().list.text_sha256, r.list.text_sha256);
  EXPECT_EQ(saved.header().list.blocks, r.list.blocks);
}

TEST_F(ReferenceFile, BlocksAreFoundByTheirPlace) {
  FakeScorer base = waves("base", 0.7f), model = waves("model", 0.9f);
  save(base);
  const DivergenceResult all = compare(model);
  options_.blocks = 2;
  const DivergenceResult two = compare(model);
  EXPECT_EQ(two.kl, std::vector<double>(all.kl.begin(), all.kl.begin() + 14));
  save(base);
  options_.blocks = 0;
  const Error e = fails(model);
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(), cat("'", path_,
                             "' has 2 blocks, and none of 7 scored tokens that starts "
                             "at token 16 of document 0; use --blocks or --blocks-file"));
}

TEST_F(ReferenceFile, ADamagedFileIsRefused) {
  FakeScorer base = waves("base", 0.7f);
  save(base);
  const std::string good = read_text(path_);
  const auto refused = [&](const std::string& bytes, const std::string& why) {
    rewrite(bytes);
    const Error e = fails(base);
    EXPECT_EQ(e.fault(), Fault::data) << why;
    EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(path_), std::string::npos) << e.what();
  };
  refused("", "does not begin with CUPELREF");
  refused("CUPELREX" + good.substr(8), "does not begin with CUPELREF");
  refused(good.substr(0, 12), "does not begin with CUPELREF");
  refused(good.substr(0, 40), "ends inside its header");
  refused(good.substr(0, good.size() - 1), "it is truncated");
  refused(good + "x", "it is damaged");
  std::string bytes = good;
  bytes[8] = 2;
  refused(bytes, "it has version 2, this program reads 1");
  bytes = good;
  bytes[30] ^= 1;
  refused(bytes, "its header is damaged");
  bytes = good;
  bytes[good.size() - 20] ^= 1;
  refused(bytes, "the checksum of block 4 differs");
  // Any cut of the file is seen when it is opened.
  for (std::size_t size = 0; size < good.size(); size += 37) {
    rewrite(good.substr(0, size));
    EXPECT_EQ(error_of([&] { SavedReference reference(path_); }).fault(), Fault::data) << size;
  }
}

TEST_F(ReferenceFile, AnotherTextTokenizerVocabularyOrProtocolIsRefused) {
  FakeScorer base = waves("base", 0.7f), wide = waves("wide", 0.7f, 31);
  save(base);
  Error e = fails(base, kText + "!");
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_TRUE(e.message().starts_with("the text's SHA-256 is ")) << e.message();
  e = fails(wide);
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_TRUE(e.message().starts_with("the vocabularies differ: 29 logits in base, saved in"));
  options_.protocol = Protocol::llamacpp;
  EXPECT_EQ(fails(base).message(), cat("the protocol is llamacpp, but gptq in '", path_, "'"));
  options_.protocol = Protocol::gptq;

  class Other : public LetterTokenizer {
    std::string decode(std::span<const Token> ids, bool skip) const override {
      return LetterTokenizer::decode(ids, skip) + std::string(ids.size(), '.');
    }
  } other;
  SavedReference saved(path_);
  TextJob j = job(base);
  j.saved = &saved;
  j.tokenizer = &other;
  e = error_of([&] { measure_text(j); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_EQ(e.message(),
            cat("'", path_, "' was made with another tokenizer: the texts of its tokens differ"));
}

TEST_F(ReferenceFile, NothingIsLeftBehindWhenTheModelFails) {
  FakeScorer broken("broken", [](const Tokens& ids, int64_t p) {
    return one_hot(0, p == 3 && ids[0] != 19 ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
  });
  EXPECT_EQ(error_of([&] { save(broken); }).fault(), Fault::data);
  EXPECT_TRUE(fs::is_empty(folder_));
  path_ = (folder_ / "no" / "such.cref").string();
  FakeScorer base = waves("base", 0.7f);
  const Error e = error_of([&] { save(base); });
  EXPECT_EQ(e.fault(), Fault::environment);
  EXPECT_NE(e.message().find(path_), std::string::npos);
}

TEST_F(ReferenceFile, AFullDiskIsAnEnvironmentError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  path_ = "/dev/full";
  FakeScorer base = waves("base", 0.7f, 1000);
  EXPECT_EQ(error_of([&] { save(base); }).fault(), Fault::environment);
}

TEST_F(ReferenceFile, OneModelMakesIt) {
  FakeScorer a = uniform(), b = uniform();
  TextJob j = job(a);
  j.models = {&a, &b};
  j.save_reference = path_;
  EXPECT_EQ(error_of([&] { measure_text(j); }).message(), "a reference file is made by one model");
}

}  // namespace
}  // namespace cupel::eval
