// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/workers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <stdexcept>

namespace cupel::eval {
namespace {

TEST(InParallel, DeliversEveryResultOnThisThread) {
  for (const std::size_t workers : {1u, 3u, 50u}) {
    std::set<std::size_t> seen;
    const auto here = std::this_thread::get_id();
    in_parallel<std::size_t>(
        20, workers, [](std::size_t, std::size_t i) { return i * i; },
        [&](std::size_t i, std::size_t square) {
          EXPECT_EQ(square, i * i);
          EXPECT_EQ(std::this_thread::get_id(), here);
          EXPECT_TRUE(seen.insert(i).second);
        });
    EXPECT_EQ(seen.size(), 20u);
  }
}

TEST(InParallel, NothingToDoIsDone) {
  in_parallel<int>(
      0, 4, [](auto, auto) { return 1; }, [](auto, auto) { FAIL(); });
}

TEST(InParallel, WorksAtTheSameTime) {
  std::atomic<int> busy = 0, most = 0;
  in_parallel<int>(
      8, 4,
      [&](std::size_t, std::size_t) {
        const int now = ++busy;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return --busy;
      },
      [](auto, auto) {});
  EXPECT_GT(most, 1);
  EXPECT_LE(most, 4);
}

TEST(InParallel, WhatWasFinishedIsDeliveredBeforeAnError) {
  std::vector<std::size_t> delivered;
  EXPECT_THROW(in_parallel<int>(
                   100, 1,
                   [](std::size_t, std::size_t i) {
                     if (i == 3) throw std::runtime_error("x");
                     return 0;
                   },
                   [&](std::size_t i, int) { delivered.push_back(i); }),
               std::runtime_error);
  EXPECT_EQ(delivered, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(InParallel, AnErrorOfTheReceiverEndsTheWork) {
  std::atomic<int> done = 0;
  EXPECT_THROW(in_parallel<int>(
                   10000, 2,
                   [&](auto, auto) {
                     std::this_thread::sleep_for(std::chrono::milliseconds(1));
                     return ++done;
                   },
                   [](auto, auto) { throw std::runtime_error("disk full"); }),
               std::runtime_error);
  EXPECT_LT(done, 10000);
}

}  // namespace
}  // namespace cupel::eval
