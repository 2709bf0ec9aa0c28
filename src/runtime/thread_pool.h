// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cupel::runtime {

/// Threads that run one function together, many times a millisecond. The caller is thread 0.
/// Waiting spins briefly and then sleeps; there is no spinning at all when the pool has more
/// threads than usable processors. A job never waits for a thread that has not begun to work on it,
/// so an oversubscribed machine costs little more than the missing threads.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  int size() const { return static_cast<int>(workers_.size()) + 1; }
  /// Splits [0, n) into pieces of at least `grain`, handed out in order; returns when all are done.
  /// The first exception of a piece is rethrown here (pieces that have not begun are then dropped).
  /// Not reentrant.
  void for_range(int64_t n, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body);

 private:
  void work();
  bool enter(uint32_t state);
  void leave();
  void run_pieces();
  void wait_until_idle();

  // Bits 0-15: workers inside the job. Bit 16: it takes workers. Bits 17-30: its number. Bit 31:
  // the pool ends.
  std::atomic<uint32_t> state_{0};
  // A sleeper announces itself before it looks a last time, and whoever could end its sleep acts
  // before looking for sleepers (both sequentially consistent): one of the two sees the other, and
  // no system call is made for nobody.
  std::atomic<int> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<uint32_t> idle_signal_{0};
  std::atomic<int64_t> next_{0};
  int spins_ = 0, wakeable_ = 0;
  int64_t n_ = 0, piece_ = 1;
  const std::function<void(int64_t, int64_t)>* body_ = nullptr;
  std::exception_ptr failure_;
  std::mutex failure_mutex_;
  std::vector<std::thread> workers_;
};

}  // namespace cupel::runtime
