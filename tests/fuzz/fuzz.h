// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

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
