// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/bench.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tiny_model.h"

namespace cupel::runtime {
namespace {

TEST(Bench, ReportsPromptAndGeneration) {
  const TinyModel tiny = make_tiny(31, true);
  const auto model = Model::open(write_packed(tiny, {.layout = "uniform"}, "bench.cupel"), {});
  BenchOptions options{
      .prompt = 20, .generate = 10, .depth = 30, .repeats = 3, .session = {.threads = 2}};
  const BenchReport report = bench(model, options);
  EXPECT_EQ(report.threads, 2);
  EXPECT_GT(report.probe_gb_per_second, 0.1);
  ASSERT_EQ(report.results.size(), 2u);
  EXPECT_EQ(report.results[0].test, "pp20 @ d30");
  EXPECT_EQ(report.results[1].test, "tg10 @ d30");
  for (const auto& result : report.results) {
    EXPECT_GT(result.tokens_per_second, 0);
    EXPECT_GE(result.stddev, 0);
    EXPECT_EQ(result.depth, 30);
  }
  EXPECT_EQ(report.results[0].gb_per_second, 0);
  // Weights, and the cache at a mean of 35.5 positions.
  const double bytes = static_cast<double>(model->streamed_bytes()) + 35.5 * 2 * 2 * 2 * 16 * 2;
  EXPECT_NEAR(report.results[1].gb_per_second, bytes * report.results[1].tokens_per_second / 1e9,
              1e-9);
}

TEST(Bench, RefusesWhatDoesNotFit) {
  const auto model = Model::open(write_packed(make_tiny(32, true), {}, "bench_refuse.cupel"), {});
  EXPECT_THROW(bench(model, {.prompt = 601}), Error);
  EXPECT_THROW(bench(model, {.prompt = 8, .generate = 8, .repeats = 0}), Error);
}

}  // namespace
}  // namespace cupel::runtime
