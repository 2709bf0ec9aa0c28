// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cupel::eval {

/// Runs job(worker, i) for every i below `jobs`, in order, on so many threads; `deliver(i, result)`
/// is called on this one, as results come. The first exception ends the work: what was finished
/// before is delivered, then it is thrown.
template <class Result>
void in_parallel(std::size_t jobs, std::size_t workers,
                 const std::function<Result(std::size_t worker, std::size_t i)>& job,
                 const std::function<void(std::size_t i, Result result)>& deliver) {
  std::mutex mutex;
  std::condition_variable news;
  std::deque<std::pair<std::size_t, Result>> finished;
  std::exception_ptr trouble;
  std::size_t running = std::min(workers, jobs);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stop = false;
  const auto work = [&](std::size_t worker) {
    try {
      for (std::size_t i; !stop && (i = next++) < jobs;) {
        Result result = job(worker, i);
        const std::lock_guard lock(mutex);
        finished.emplace_back(i, std::move(result));
        news.notify_one();
      }
    } catch (...) {
      stop = true;
      const std::lock_guard lock(mutex);
      if (!trouble) trouble = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    --running;
    news.notify_one();
  };
  std::vector<std::jthread> threads;
  for (std::size_t w = 0, n = running; w < n; ++w) threads.emplace_back(work, w);
  try {
    for (std::unique_lock lock(mutex); running > 0 || !finished.empty();) {
      news.wait(lock, [&] { return running == 0 || !finished.empty(); });
      while (!finished.empty()) {
        auto [i, result] = std::move(finished.front());
        finished.pop_front();
        lock.unlock();
        deliver(i, std::move(result));
        lock.lock();
      }
    }
  } catch (...) {
    stop = true;
    for (std::jthread& t : threads) t.join();
    throw;
  }
  for (std::jthread& t : threads) t.join();
  if (trouble) std::rethrow_exception(trouble);
}

}  // namespace cupel::eval
