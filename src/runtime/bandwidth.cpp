// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/bandwidth.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "base/threads.h"

namespace cupel::runtime {
namespace {

constexpr int64_t kBytes = 256 << 20, kBlock = 1 << 20;
constexpr int kPasses = 5;

// Eight independent sums, so that the loads and not the additions are what takes time.
uint64_t sum_of(const uint64_t* values, int64_t count) {
  uint64_t sums[8] = {};
  for (int64_t i = 0; i < count; i += 8)
    for (int j = 0; j < 8; ++j) sums[j] += values[i + j];
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum += s;
  return sum;
}

}  // namespace

double read_bandwidth(ThreadPool& pool) {
  const auto buffer = std::make_unique_for_overwrite<uint64_t[]>(kBytes / sizeof(uint64_t));
  const int64_t block = kBlock / static_cast<int64_t>(sizeof(uint64_t));
  pool.for_range(kBytes / kBlock, 1, [&](int64_t begin, int64_t end) {
    std::memset(buffer.get() + begin * block, 1, static_cast<std::size_t>((end - begin) * kBlock));
  });
  double best = 0;
  std::atomic<uint64_t> total{0};  // keeps the loads alive
  for (int pass = 0; pass < kPasses; ++pass) {
    const double start = now_seconds();
    pool.for_range(kBytes / kBlock, 1, [&](int64_t begin, int64_t end) {
      total += sum_of(buffer.get() + begin * block, (end - begin) * block);
    });
    best = std::max(best, static_cast<double>(kBytes) / (now_seconds() - start));
  }
  return best;
}

}  // namespace cupel::runtime
