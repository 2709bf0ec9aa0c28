// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/parallel.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cupel::core {
namespace {

class ParallelTest : public ::testing::Test {
 protected:
  ~ParallelTest() override { at::set_num_threads(before_); }
  int before_ = at::get_num_threads();
};

std::size_t threads_used(int64_t n, int64_t grain) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  parallel_for(0, n, grain, [&](int64_t, int64_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  return seen.size();
}

TEST_F(ParallelTest, RunsOnAsManyThreadsAsItMay) {
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    EXPECT_EQ(threads_used(300, 1), static_cast<std::size_t>(threads));
    EXPECT_EQ(threads_used(300, 1000), 1u);
  }
}

TEST_F(ParallelTest, CoversTheRangeOnce) {
  at::set_num_threads(3);
  for (const int64_t n : {0, 1, 2, 7, 100}) {
    std::vector<int> hits(static_cast<std::size_t>(n));
    parallel_for(0, n, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) ++hits[static_cast<std::size_t>(i)];
    });
    EXPECT_EQ(hits, std::vector<int>(static_cast<std::size_t>(n), 1));
  }
}

TEST_F(ParallelTest, InsideItselfItStaysOnItsThread) {
  at::set_num_threads(2);
  parallel_for(0, 2, 1, [](int64_t, int64_t) { EXPECT_EQ(threads_used(100, 1), 1u); });
}

TEST_F(ParallelTest, WhatIsThrownArrives) {
  at::set_num_threads(2);
  EXPECT_THROW(parallel_for(0, 10, 1,
                            [](int64_t, int64_t last) {
                              if (last == 10) throw std::runtime_error("here");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace cupel::core
