// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <sanitizer/allocator_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/cat.h"
#include "base/error.h"

namespace cupel::fuzz {

/// Runs `body` on an input: an Error is a fine answer, unless it says that the program is wrong.
template <class Body>
int tolerate(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    if (e.fault() == Fault::internal) std::abort();
  }
  return 0;
}

/// Counts the heap while it lives: more than `limit` bytes at a time end the program. Nothing may
/// be allocated on the word of a file, only in proportion to what it holds.
class HeapLimit {
 public:
  explicit HeapLimit(std::size_t limit) {
    [[maybe_unused]] static const int installed =
        __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    used_ = 0;
    limit_ = static_cast<int64_t>(limit);
  }
  HeapLimit(const HeapLimit&) = delete;
  HeapLimit& operator=(const HeapLimit&) = delete;
  ~HeapLimit() { limit_ = INT64_MAX; }

 private:
  static void on_malloc(const volatile void*, std::size_t size) {
    used_ += static_cast<int64_t>(size);
    if (used_ > limit_) std::abort();
  }
  static void on_free(const volatile void* block) {
    if (block)
      used_ -= static_cast<int64_t>(__sanitizer_get_allocated_size(const_cast<void*>(block)));
  }
  static inline thread_local int64_t used_ = 0, limit_ = INT64_MAX;
};

inline std::string_view text_of(const uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file in memory.
class File {
 public:
  explicit File(std::string_view content) : descriptor_(memfd_create("fuzz", 0)) {
    if (descriptor_ < 0 || ::write(descriptor_, content.data(), content.size()) !=
                               static_cast<ssize_t>(content.size()))
      std::abort();
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(descriptor_); }
  std::string path() const { return cat("/proc/self/fd/", descriptor_); }

 private:
  int descriptor_;
};

}  // namespace cupel::fuzz
