// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Real and tiny checkpoints with the results of another implementation, where the shared folder is
// at hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "tiny_model.h"

namespace cupel::runtime {
namespace {

using Json = nlohmann::json;

std::string shared_folder() {
  const char* set = std::getenv("CUPEL_SHARED");
  return set ? set : CUPEL_SOURCE_DIR "/../shared";
}

/// Unpacks `archive` of the shared folder once; "" when it is not there.
std::string unpacked(const std::string& archive) {
  const std::string from = shared_folder() + "/" + archive;
  if (!std::filesystem::exists(from)) return {};
  const std::string to = temporary_path(std::filesystem::path(archive).filename().string() + ".d");
  if (std::filesystem::exists(to)) return to;
  std::filesystem::create_directories(to);
  return std::system(cat("tar -xJf '", from, "' -C '", to, "'").c_str()) == 0 ? to : std::string();
}

Json read_json(const std::string& path) {
  return Json::parse(std::ifstream(path));
}

double log_sum_exp(std::span<const float> logits) {
  double top = -1e30, sum = 0;
  for (const float v : logits) top = std::max(top, static_cast<double>(v));
  for (const float v : logits) sum += std::exp(static_cast<double>(v) - top);
  return top + std::log(sum);
}

SessionOptions exact_cache() {
  return {.threads = 2, .kv = KvType::f32};
}

class TinyCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(TinyCheckpoint, MatchesItsReference) {
  const std::string folder = unpacked("fixtures/tiny-models.tar.xz");
  if (folder.empty()) GTEST_SKIP() << "no tiny models in " << shared_folder();
  const std::string path = folder + "/tiny-models/" + GetParam();
  const Json reference = read_json(path + "/reference.json");
  Session session(Model::open(path, {}), exact_cache());
  const auto vocab = static_cast<std::size_t>(session.vocab());
  for (const auto& [name, sequence] : reference.at("sequences").items()) {
    const auto ids = sequence.at("tokens").get<std::vector<text::Token>>();
    const auto logits = logits_of(session, ids);
    const auto last = sequence.at("last_logits").get<std::vector<float>>();
    for (std::size_t i = 0; i < vocab; ++i)
      EXPECT_NEAR(logits[(ids.size() - 1) * vocab + i], last[i], 2e-4) << name;
    for (std::size_t p = 0; p < ids.size(); ++p) {
      const Json& want = sequence.at("per_position").at(p);
      const std::span row(logits.data() + p * vocab, vocab);
      EXPECT_NEAR(log_sum_exp(row), want.at("lse").get<double>(), 2e-4)
          << name << " position " << p;
      for (std::size_t i = 0; i < want.at("top_ids").size(); ++i)
        EXPECT_NEAR(row[want.at("top_ids").at(i).get<std::size_t>()],
                    want.at("top_logits").at(i).get<float>(), 2e-4);
    }
  }
}

TEST_P(TinyCheckpoint, GeneratesItsGreedyTokens) {
  const std::string folder = unpacked("fixtures/tiny-models.tar.xz");
  if (folder.empty()) GTEST_SKIP() << "no tiny models in " << shared_folder();
  const std::string path = folder + "/tiny-models/" + GetParam();
  const Json reference = read_json(path + "/reference.json");
  Session session(Model::open(path, {}), exact_cache());
  text::GenerateOptions options;
  options.sampling.temperature = 0;
  const auto want = reference.at("greedy").at("tokens").get<std::vector<text::Token>>();
  options.max_tokens = static_cast<int64_t>(want.size());
  const auto prompt =
      reference.at("sequences").at("short").at("tokens").get<std::vector<text::Token>>();
  EXPECT_EQ(session.generate(prompt, options, {}).tokens, want);
}

INSTANTIATE_TEST_SUITE_P(Llama, TinyCheckpoint,
                         ::testing::Values("llama_gqa_untied",
                                           "llama3_rope_headdim32_tied_sharded"),
                         [](const auto& name) { return std::string(name.param); });

class Stories : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = unpacked("data/models.tar.xz");
    if (folder.empty()) GTEST_SKIP() << "no models in " << shared_folder();
    path_ = folder + "/models/stories260K";
    reference_ = read_json(path_ + "/reference.json");
  }
  std::vector<text::Token> ids(const char* key) const {
    return reference_.at(key).get<std::vector<text::Token>>();
  }
  std::string path_;
  Json reference_;
};

TEST_F(Stories, GreedyTokens) {
  Session session(Model::open(path_, {}), exact_cache());
  const auto prompt = ids("prompt_ids");
  auto want = ids("greedy_ids");
  want.erase(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(prompt.size()));
  text::GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = static_cast<int64_t>(want.size());
  EXPECT_EQ(session.generate(prompt, options, {}).tokens, want);
}

TEST_F(Stories, LogProbabilityOfAPassage) {
  Session session(Model::open(path_, {}), exact_cache());
  const auto passage = ids("score_ids");
  double sum = 0;
  session.score(passage, 0, [&](const text::LogitRows& rows) {
    for (int64_t r = 0; r < rows.rows && rows.first + r + 1 < static_cast<int64_t>(passage.size());
         ++r) {
      const auto next =
          static_cast<std::size_t>(passage[static_cast<std::size_t>(rows.first + r + 1)]);
      sum += static_cast<double>(rows.row(r)[next]) - log_sum_exp(rows.row(r));
    }
  });
  EXPECT_NEAR(sum, reference_.at("sum_logprob").get<double>(), 1e-3);
}

}  // namespace
}  // namespace cupel::runtime
