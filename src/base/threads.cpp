// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/threads.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/cgroup.h"

namespace cupel {
namespace {

int processors_in_mask() {
  // The kernel refuses a mask smaller than its own.
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
    cpu_set_t* mask = CPU_ALLOC(bits);
    if (!mask) break;
    const std::size_t size = CPU_ALLOC_SIZE(bits);
    const int result = ::sched_getaffinity(0, size, mask);
    const int error = errno;
    const int count = result == 0 ? CPU_COUNT_S(size, mask) : 0;
    CPU_FREE(mask);
    if (count > 0) return count;
    if (error != EINVAL) break;
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int usable_processors() {
  std::stringstream membership;
  if (std::ifstream file("/proc/self/cgroup"); file) membership << file.rdbuf();
  const double quota = cgroup_processors(membership.str(), "/sys/fs/cgroup");
  int count = processors_in_mask();
  // A quota of 1.5 deserves two threads, one of 4.1 four: a throttled thread makes the others wait.
  if (quota > 0) count = std::min(count, static_cast<int>(std::lround(quota)));
  return std::max(count, 1);
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace cupel
