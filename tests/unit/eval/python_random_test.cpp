// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/stats/python_random.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "tests/unit/eval/stats_random_oracle.h"

namespace cupel::eval {
namespace {

namespace oracle = test::oracle;

TEST(PythonRandom, BitsBelowAndReal) {
  for (const oracle::RandomValues& expected : oracle::random_values) {
    SCOPED_TRACE(expected.seed);
    PythonRandom random(expected.seed);
    std::vector<uint64_t> bits;
    for (const int k : {32, 32, 32, 1, 7, 33, 53, 64}) bits.push_back(random.bits(k));
    EXPECT_EQ(bits, expected.bits);
    std::vector<int64_t> below;
    for (const int64_t n : {int64_t{1}, int64_t{10}, int64_t{1} << 40, (int64_t{1} << 62) + 1})
      below.push_back(random.below(n));
    EXPECT_EQ(below, expected.below);
    EXPECT_EQ(random.real(), expected.real[0]);
    EXPECT_EQ(random.real(), expected.real[1]);
  }
}

TEST(PythonRandom, ValuesAfterManyTwists) {
  PythonRandom random(5);
  for (int i = 0; i < 2000; ++i) random.real();
  EXPECT_EQ(random.real(), oracle::late_value);
}

TEST(PythonRandom, SampleOfSmallAndLargePopulations) {
  PythonRandom random(1234);
  for (const oracle::SampleValues& expected : oracle::sample_values)
    EXPECT_EQ(random.sample(expected.population, expected.k), expected.drawn)
        << expected.k << " of " << expected.population;
}

TEST(PythonRandom, ChoicesAndShuffle) {
  PythonRandom random(7);
  EXPECT_EQ(random.choices(10, 12), oracle::choice_values);
  std::vector<int64_t> values(8);
  std::iota(values.begin(), values.end(), 0);
  random.shuffle(values);
  EXPECT_EQ(values, oracle::shuffled_values);
}

TEST(PythonRandom, RefusesWhatCannotBeDrawn) {
  PythonRandom random(1);
  EXPECT_THROW(random.sample(4, 5), Error);
  EXPECT_THROW(random.sample(4, -1), Error);
  EXPECT_THROW(random.choices(0, 1), Error);
  EXPECT_THROW(random.choices(3, -1), Error);
  EXPECT_THROW(random.below(0), Error);
  EXPECT_THROW(random.bits(65), Error);
  EXPECT_TRUE(random.sample(0, 0).empty());
}

TEST(PythonRandom, FewShotDrawsOfTheReference) {
  const char* shared = std::getenv("CUPEL_SHARED");
  std::ifstream file(std::string(shared ? shared : "") +
                     "/data/reference/fewshot_indices_seed1234.json");
  if (!shared || !file)
    GTEST_SKIP() << "needs data/reference/fewshot_indices_seed1234.json (set CUPEL_SHARED)";
  const auto pools = nlohmann::json::parse(file);
  ASSERT_GT(pools.size(), 1u);
  for (const auto& [name, pool] : pools.items()) {
    PythonRandom random(pool["seed"].get<uint64_t>());
    if (pool.contains("getrandbits32")) {
      for (const auto& value : pool["getrandbits32"])
        EXPECT_EQ(random.bits(32), value.get<uint64_t>());
    }
    if (!pool.contains("first_20_draws")) continue;
    for (const auto& draw : pool["first_20_draws"])
      EXPECT_EQ(random.sample(pool["pool"], pool["n"]), draw.get<std::vector<int64_t>>()) << name;
  }
}

}  // namespace
}  // namespace cupel::eval
