// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/readahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace cupel::runtime {
namespace {

constexpr std::size_t kStep = 4 << 20;

std::size_t physical_memory() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::jthread read_ahead(std::span<const std::byte> range) {
  if (range.empty() || range.size() > physical_memory() / 2) return {};
  return std::jthread([range](const std::stop_token& stop) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto at = reinterpret_cast<std::uintptr_t>(range.data()) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(range.data() + range.size());
    for (; at < end && !stop.stop_requested(); at += kStep)
      // Advice alone: where it is refused, the pages come when they are touched.
      ::madvise(reinterpret_cast<void*>(at), std::min<std::size_t>(kStep, end - at), MADV_WILLNEED);
  });
}

}  // namespace cupel::runtime
