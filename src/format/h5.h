// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/weight_code.h"

namespace cupel::format {

/// A small face of HDF5: files of contiguous, unfiltered, early-allocated datasets without object
/// times, so that equal content gives equal bytes. HDF5's own error stack is turned into
/// Fault::environment or Fault::data.
class H5Writer {
 public:
  /// Creates `path` with a userblock of `userblock` zero bytes (0 or a power of two >= 512);
  /// datasets are aligned to `alignment` bytes.
  H5Writer(const std::string& path, std::size_t userblock, std::size_t alignment);
  ~H5Writer();
  /// Writes a dataset; missing groups of the name ("/tensors/a.b/codes") are made.
  void dataset(const std::string& name, ElementType type, const std::vector<int64_t>& shape,
               std::span<const std::byte> bytes);
  /// Absolute offset of a dataset's bytes in the file.
  uint64_t offset(const std::string& name) const;
  /// Flushes and closes; errors here (disk full) throw.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads whole datasets of a file.
class H5Reader {
 public:
  explicit H5Reader(const std::string& path);
  ~H5Reader();
  bool has(const std::string& name) const;
  Array read(const std::string& name) const;
  uint64_t offset(const std::string& name) const;
  /// Names of all datasets, sorted, with leading "/".
  std::vector<std::string> names() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cupel::format
