// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "base/threads.h"

namespace cupel::runtime {
namespace {

std::vector<int> visits(ThreadPool& pool, int64_t n, int64_t grain) {
  std::vector<int> count(static_cast<std::size_t>(n), 0);
  pool.for_range(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++count[static_cast<std::size_t>(i)];
  });
  return count;
}

TEST(ThreadPool, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const int64_t n : {0, 1, 2, 7, 100, 1001})
      for (const int64_t grain : {0, 1, 3, 64, 5000})
        EXPECT_EQ(visits(pool, n, grain), std::vector<int>(static_cast<std::size_t>(n), 1))
            << threads << " " << n;
  }
}

TEST(ThreadPool, PiecesHoldTheGrain) {
  ThreadPool pool(2);
  std::atomic<int> small{0};
  pool.for_range(103, 10,
                 [&](int64_t begin, int64_t end) { small += end - begin < 10 && end != 103; });
  EXPECT_EQ(small, 0);
}

TEST(ThreadPool, SmallWorkStaysOnTheCaller) {
  ThreadPool pool(2);
  std::thread::id worker;
  pool.for_range(10, 10, [&](int64_t, int64_t) { worker = std::this_thread::get_id(); });
  EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST(ThreadPool, ThousandsOfQuickRuns) {
  for (const int threads : {2, 5}) {
    ThreadPool pool(threads);
    std::vector<int64_t> sums(64);
    for (int run = 0; run < 5000; ++run)
      pool.for_range(64, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) sums[static_cast<std::size_t>(i)] += i;
      });
    for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(sums[static_cast<std::size_t>(i)], 5000 * i);
  }
}

TEST(ThreadPool, WorksAgainAfterALongSleep) {
  ThreadPool pool(2);
  for (int run = 0; run < 5; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(visits(pool, 100, 1), std::vector<int>(100, 1));
  }
}

TEST(ThreadPool, RethrowsAndGoesOn) {
  for (const int threads : {1, 2, 6}) {
    ThreadPool pool(threads);
    for (int run = 0; run < 50; ++run) {
      EXPECT_THROW(pool.for_range(100, 1,
                                  [](int64_t begin, int64_t end) {
                                    if (begin <= 37 && 37 < end) throw std::runtime_error("37");
                                  }),
                   std::runtime_error);
      EXPECT_EQ(visits(pool, 100, 1), std::vector<int>(100, 1));
    }
  }
}

TEST(ThreadPool, OneOfManyExceptionsArrives) {
  ThreadPool pool(4);
  EXPECT_THROW(pool.for_range(100, 1, [](int64_t, int64_t) { fail(Fault::data, "bad piece"); }),
               Error);
}

TEST(ThreadPool, RefusesNoThreads) {
  EXPECT_THROW(ThreadPool(0), Error);
}

double seconds_for(ThreadPool& pool, std::vector<double>& values) {
  const double start = now_seconds();
  for (int run = 0; run < 30; ++run)
    pool.for_range(64, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * 64; i < end * 64; ++i)
        for (int k = 0; k < 20; ++k)
          values[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>(i)] * 1.01 + k;
    });
  return now_seconds() - start;
}

// A barrier that waits for every thread takes 50 times as long here. The best of many short
// attempts, taken in turns, says the same on a busy machine.
TEST(ThreadPool, OversubscriptionDoesNotCollapse) {
  const int usable = usable_processors();
  ThreadPool fitting(usable), crowded(8 * usable);
  std::vector<double> values(4096, 1.0);
  double fit = 1e9, crowd = 1e9;
  for (int attempt = 0; attempt < 60; ++attempt) {
    fit = std::min(fit, seconds_for(fitting, values));
    crowd = std::min(crowd, seconds_for(crowded, values));
  }
  EXPECT_LT(crowd, 5 * fit);
}

}  // namespace
}  // namespace cupel::runtime
