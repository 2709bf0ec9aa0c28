// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Real and tiny checkpoints with the results of another implementation, where the shared folder is
// at hand.
#include <gtest/gtest.h>

#include <algorithm>
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

/// The tiny checkpoints, which cover the families.
class TinyCheckpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = unpacked("fixtures/tiny-models.tar.xz");
    if (folder.empty()) GTEST_SKIP() << "no tiny models in " << shared_folder();
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/tiny-models"))
      paths_.push_back(entry.path().string());
    std::sort(paths_.begin(), paths_.end());
  }
  /// `body(path, reference)` for each; what it throws is that checkpoint's failure alone.
  template <class Body>
  void for_each(Body&& body) const {
    for (const auto& path : paths_) {
      SCOPED_TRACE(path);
      try {
        body(path, read_json(path + "/reference.json"));
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    }
  }
  static std::vector<text::Token> tokens(const Json& sequence) {
    return sequence.at("tokens").get<std::vector<text::Token>>();
  }
  std::vector<std::string> paths_;
};

/// The largest difference from every logit that the reference states.
double error_of(const std::vector<float>& logits, const Json& sequence, std::size_t vocab) {
  double worst = 0;
  const auto compare = [&](double got, const Json& want) {
    worst = std::max(worst, std::abs(got - want.get<double>()));
  };
  const Json& positions = sequence.at("per_position");
  for (std::size_t p = 0; p < positions.size(); ++p) {
    const std::span row(logits.data() + p * vocab, vocab);
    compare(log_sum_exp(row), positions.at(p).at("lse"));
    const Json &ids = positions.at(p).at("top_ids"), &top = positions.at(p).at("top_logits");
    for (std::size_t i = 0; i < ids.size(); ++i)
      compare(static_cast<double>(row[ids.at(i).get<std::size_t>()]), top.at(i));
  }
  const Json& last = sequence.at("last_logits");
  for (std::size_t i = 0; i < vocab; ++i)
    compare(static_cast<double>(logits[(positions.size() - 1) * vocab + i]), last.at(i));
  return worst;
}

TEST_F(TinyCheckpoints, LogitsMatchTheReference) {
  for_each([](const std::string& path, const Json& reference) {
    Session session(Model::open(path, {}), exact_cache());
    for (const auto& [name, sequence] : reference.at("sequences").items())
      EXPECT_LT(error_of(logits_of(session, tokens(sequence)), sequence,
                         static_cast<std::size_t>(session.vocab())),
                1e-4)
          << name;
  });
}

TEST_F(TinyCheckpoints, GreedyTokensMatchTheReference) {
  for_each([](const std::string& path, const Json& reference) {
    // What decoding with a cache gives, where that differs from evaluating anew.
    const Json& greedy =
        reference.at(reference.contains("greedy_cached") ? "greedy_cached" : "greedy");
    if (greedy.is_object() && greedy.value("min_margin", 1.0) < 2e-4) return;
    Session session(Model::open(path, {}), exact_cache());
    text::GenerateOptions options;
    options.sampling.temperature = 0;
    const auto want = greedy.is_object() ? tokens(greedy) : greedy.get<std::vector<text::Token>>();
    options.max_tokens = static_cast<int64_t>(want.size());
    const auto prompt = tokens(reference.at("sequences").at("short"));
    EXPECT_EQ(session.generate(prompt, options, {}).tokens, want);
  });
}

TEST_F(TinyCheckpoints, BothSpellingsOfTheConfigurationGiveTheSameBits) {
  for_each([](const std::string& path, const Json& reference) {
    if (!std::filesystem::exists(path + "/config.legacy.json")) return;
    const std::string legacy = temporary_path("legacy");
    std::filesystem::remove_all(legacy);
    std::filesystem::create_directories(legacy);
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      std::string name = entry.path().filename().string();
      if (name == "config.json") continue;
      if (name == "config.legacy.json") name = "config.json";
      std::filesystem::create_symlink(std::filesystem::absolute(entry.path()), legacy + "/" + name);
    }
    const auto ids = tokens(reference.at("sequences").at("long"));
    Session a(Model::open(path, {}), exact_cache()), b(Model::open(legacy, {}), exact_cache());
    EXPECT_EQ(logits_of(a, ids), logits_of(b, ids));
  });
}

TEST_F(TinyCheckpoints, LevelsAndStepsGiveTheSameBits) {
  for_each([](const std::string& path, const Json& reference) {
    const auto ids = tokens(reference.at("sequences").at("long"));
    std::vector<float> first;
    for (const auto isa : {kernels::Isa::scalar, kernels::Isa::avx2, kernels::Isa::avx512}) {
      if (isa > kernels::best_isa()) continue;
      const auto model = Model::open(path, {.isa = isa});
      for (const int64_t chunk : {1, 7, 256}) {
        Session session(model, {.threads = 2, .kv = KvType::f32, .prompt_chunk = chunk});
        const auto logits = logits_of(session, ids);
        if (first.empty()) first = logits;
        EXPECT_EQ(logits, first) << kernels::isa_name(isa) << ", steps of " << chunk;
      }
    }
  });
}

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
