// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

namespace cupel::runtime {

/// Scratch memory that only grows: 64-byte aligned, not initialised, content lost when it grows.
/// One cache line more than asked for, so that a vector load at the end stays inside.
template <class T>
class Buffer {
 public:
  T* reserve(int64_t count) {
    if (count > capacity_) {
      data_.reset();
      const auto bytes = static_cast<std::size_t>(count) * sizeof(T) + kAlignment;
      data_.reset(static_cast<T*>(::operator new (bytes, std::align_val_t{kAlignment})));
      capacity_ = count;
    }
    return data_.get();
  }
  T* get() const { return data_.get(); }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Release {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<T, Release> data_;
  int64_t capacity_ = 0;
};

}  // namespace cupel::runtime
