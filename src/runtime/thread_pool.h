// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cupel::runtime {

/// Threads that run one function together, many times a millisecond. The caller is thread 0. Waiting spins briefly and
/// then sleeps, so that an oversubscribed machine does not starve the thread that has work.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  int size() const { return static_cast<int>(workers_.size()) + 1; }
  /// Splits [0, n) into pieces of at least `grain`, handed out in order; returns when all are done. The first
  /// exception of a piece is rethrown here. Not reentrant.
  void for_range(int64_t n, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

 private:
  void work(std::stop_token stop);
  void run_pieces();
  std::vector<std::jthread> workers_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::atomic<uint64_t> epoch_{0};
  std::atomic<int64_t> next_{0};
  std::atomic<int> running_{0};
  int64_t n_ = 0, piece_ = 1;
  const std::function<void(int64_t, int64_t)>* body_ = nullptr;
  std::exception_ptr failure_;
  std::mutex failure_mutex_;
};

}  // namespace cupel::runtime
