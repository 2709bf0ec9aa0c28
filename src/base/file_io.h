// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace cupel {

/// Owns a file descriptor.
class FileHandle {
 public:
  explicit FileHandle(int descriptor = -1) : descriptor_(descriptor) {}
  FileHandle(FileHandle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileHandle();
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  /// Gives up ownership.
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

/// Fault::user if there is no such file or it is a folder, Fault::environment if it can't be
/// opened.
FileHandle open_for_reading(const std::string& path);

/// An errno in words.
std::string reason_of(int error);

}  // namespace cupel
