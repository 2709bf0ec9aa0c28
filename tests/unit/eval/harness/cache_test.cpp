// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::FakeScorer;

class Cache : public ::testing::Test {
 protected:
  Cache() : folder_(fs::temp_directory_path() / "cupel-answer-cache") { fs::remove_all(folder_); }
  ~Cache() override { fs::remove_all(folder_); }
  std::vector<double> ask(const std::vector<Request>& requests, const std::string& model = "m") {
    AnswerCache cache(folder_.string(), model);
    const auto plain = likelihood_of(scorer_);
    std::vector<double> out(requests.size());
    cached(*plain, cache)->score(requests, [&](std::size_t i, const Likelihood& l) {
      out[i] = l.log_prob;
    });
    return out;
  }
  fs::path file() const { return fs::directory_iterator(folder_)->path(); }

  fs::path folder_;
  FakeScorer scorer_ = test::repeater(2);
};

TEST_F(Cache, OnlyNewRequestsReachTheModel) {
  const auto first = ask({{{1}, {1}}, {{2}, {3}}});
  EXPECT_EQ(scorer_.calls.size(), 2u);
  const auto again = ask({{{2}, {3}}, {{4}, {4}}, {{1}, {1}}});
  EXPECT_EQ(scorer_.calls.size(), 3u);
  EXPECT_EQ(again[0], first[1]);
  EXPECT_EQ(again[2], first[0]);
}

TEST_F(Cache, AnotherModelHasItsOwnAnswers) {
  ask({{{1}, {1}}});
  ask({{{1}, {1}}}, "other");
  EXPECT_EQ(scorer_.calls.size(), 2u);
}

TEST_F(Cache, ARecordThatWasCutIsAskedAgain) {
  const auto first = ask({{{1}, {1}}, {{2}, {3}}});
  fs::resize_file(file(), fs::file_size(file()) - 5);  // as a killed run leaves it
  EXPECT_EQ(ask({{{1}, {1}}, {{2}, {3}}}), first);
  EXPECT_EQ(scorer_.calls.size(), 3u);
  EXPECT_EQ(ask({{{1}, {1}}, {{2}, {3}}}), first);
  EXPECT_EQ(scorer_.calls.size(), 3u);
}

TEST_F(Cache, DamageIsNamed) {
  ask({{{1}, {1}}});
  const std::string path = file().string();
  std::string text = read_text(path);
  text[3] = '{';
  std::ofstream(path) << text;
  EXPECT_EQ(error_of([&] { ask({{{1}, {1}}}); }).fault(), Fault::data);
}

}  // namespace
}  // namespace cupel::eval
