// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/thread_pool.h"

#include <algorithm>
#include <limits>
#include <system_error>

#include "base/error.h"
#include "base/threads.h"
#include "runtime/futex.h"

namespace cupel::runtime {
namespace {

constexpr uint32_t kActive = 0xffff, kOpen = 1u << 16, kJob = 1u << 17, kJobs = 0x3fffu * kJob,
                   kStop = 1u << 31;
// Uneven processors even out; more pieces cost more reads of shared input.
constexpr int64_t kPiecesPerThread = 4;
// About 50 us: longer than the serial work between two jobs of a token, far shorter than a
// scheduler's slice.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  CUPEL_CHECK(threads >= 1 && threads <= 1024, user,
              "threads: a number in [1, 1024] is needed, not ", threads);
  const int usable = usable_processors();
  spins_ = threads <= usable ? kSpins : 0;
  wakeable_ = std::max(1, std::min(threads, usable) - 1);
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& e) {
    // Those that did start are enough to go on with.
    if (workers_.empty()) fail(Fault::environment, "no thread could be started: ", e.what());
  }
}

ThreadPool::~ThreadPool() {
  state_.fetch_or(kStop);
  futex_wake(state_, std::numeric_limits<int>::max());
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::for_range(int64_t n, int64_t grain,
                           const std::function<void(int64_t, int64_t)>& body) {
  if (n <= 0) return;
  const int64_t parts = kPiecesPerThread * size();
  const int64_t piece = std::max({grain, int64_t{1}, (n + parts - 1) / parts});
  if (workers_.empty() || piece >= n) return body(0, n);

  body_ = &body;
  n_ = n;
  piece_ = piece;
  next_.store(0, std::memory_order_relaxed);
  failure_ = nullptr;
  const uint32_t job = (state_.load(std::memory_order_relaxed) + kJob) & kJobs;
  state_.store(job | kOpen);
  const int64_t helpers = std::min<int64_t>((n + piece - 1) / piece - 1, wakeable_);
  if (sleepers_.load() > 0) futex_wake(state_, static_cast<int>(helpers));
  run_pieces();
  wait_until_idle();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::run_pieces() {
  for (;;) {
    const int64_t begin = next_.fetch_add(piece_, std::memory_order_relaxed);
    if (begin >= n_) return;
    try {
      (*body_)(begin, std::min(begin + piece_, n_));
    } catch (...) {
      next_.store(n_, std::memory_order_relaxed);
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

void ThreadPool::wait_until_idle() {
  state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int i = 0; i < spins_; ++i) {
    if ((state_.load(std::memory_order_acquire) & kActive) == 0) return;
    pause();
  }
  caller_sleeps_.store(true);
  for (;;) {
    // The signal is read first: a worker leaves before it signals, so a signal after this read ends
    // the wait.
    const uint32_t signal = idle_signal_.load();
    if ((state_.load() & kActive) == 0) break;
    futex_wait(idle_signal_, signal);
  }
  caller_sleeps_.store(false);
}

bool ThreadPool::enter(uint32_t state) {
  // The whole word is compared, so success means that the job it names is open at this moment.
  return state_.compare_exchange_strong(state, state + 1, std::memory_order_acq_rel,
                                        std::memory_order_relaxed);
}

void ThreadPool::leave() {
  const uint32_t left = state_.fetch_sub(1) - 1;
  if ((left & (kOpen | kActive)) != 0) return;
  idle_signal_.fetch_add(1);
  if (caller_sleeps_.load()) futex_wake(idle_signal_, 1);
}

void ThreadPool::work() {
  uint32_t finished = kStop;  // number of the job that this thread worked on last; no job yet
  const auto joinable = [&](uint32_t state) {
    return (state & kOpen) != 0 && (state & kJobs) != finished;
  };
  for (;;) {
    uint32_t state = state_.load(std::memory_order_acquire);
    for (int i = 0; i < spins_ && !joinable(state) && (state & kStop) == 0; ++i) {
      pause();
      state = state_.load(std::memory_order_acquire);
    }
    if ((state & kStop) != 0) return;
    if (!joinable(state)) {
      sleepers_.fetch_add(1);
      futex_wait(state_, state);
      sleepers_.fetch_sub(1);
    } else if (enter(state)) {
      finished = state & kJobs;
      run_pieces();
      leave();
    }
  }
}

}  // namespace cupel::runtime
