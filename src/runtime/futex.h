// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace cupel::runtime {

// std::atomic::wait yields the processor several times before it sleeps; on a busy machine each of
// those costs a whole scheduling period.

/// Sleeps until the word is woken, unless it no longer holds `expected`. May also return for no
/// reason.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  static_assert(sizeof word == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
            nullptr, 0);
}

/// Wakes at most `count` sleepers.
inline void futex_wake(std::atomic<uint32_t>& word, int count) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
            nullptr, 0);
}

}  // namespace cupel::runtime
