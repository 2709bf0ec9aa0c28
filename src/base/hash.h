// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cupel {

/// SHA-256, incremental.
class Sha256 {
 public:
  Sha256();
  Sha256& add(std::span<const std::byte> bytes);
  Sha256& add(std::string_view text);
  /// 64 lower-case hexadecimal digits; the object may not be used afterwards.
  std::string hex();

 private:
  uint32_t state_[8];
  uint64_t length_ = 0;
  std::byte pending_[64];
  std::size_t pending_size_ = 0;
};

/// The first 32 hex digits of the SHA-256 of the parts, each preceded by its length: the key of a
/// unit of work.
std::string key_of(std::initializer_list<std::string_view> parts);
std::string sha256_file(const std::string& path);

/// CRC-32C (Castagnoli), as stored in artifacts. `crc` continues an earlier value.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);

}  // namespace cupel
