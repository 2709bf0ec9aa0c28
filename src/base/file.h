// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace cupel {

/// A read-only memory map of a whole file. Movable; unmaps when destroyed.
class MappedFile {
 public:
  MappedFile() = default;
  /// Fault::user if the file does not exist, Fault::environment if it can't be read.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::string path_;
};

std::string read_text(const std::string& path);

/// Writes to a temporary name beside `path`, fsyncs, renames: readers see the old file or the new
/// one, never a part. On failure the temporary is removed and Fault::environment names the path and
/// the reason (disk full, ...).
void write_atomic(const std::string& path, std::string_view text);

/// The same for a writer that needs a path of its own: `write(temporary)` must leave a complete
/// file there.
void write_atomic_with(const std::string& path,
                       const std::function<void(const std::string& temporary)>& write);

/// Creates the folder and its parents; Fault::environment with the reason if that fails.
void make_folder(const std::string& path);

/// Where downloads and set-up live: $CUPEL_CACHE, else ~/.cache/cupel.
std::string cache_folder();

}  // namespace cupel
