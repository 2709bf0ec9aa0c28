// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <array>
#include <cstring>

#include "base/hash.h"
#include "base/hash_impl.h"
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace cupel {
namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b] is the CRC of byte b followed by k zero bytes, so eight bytes are eight independent
// look-ups.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0u);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b)
      tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 0xff];
  return tables;
}

constexpr Tables kTables = make_tables();

uint32_t crc_table(const std::byte* p, std::size_t size, uint32_t crc) {
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][word >> 8 * k & 0xff];
  }
  for (; size > 0; --size, ++p)
    crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<uint32_t>(*p)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] uint32_t crc_sse42(const std::byte* p, std::size_t size, uint32_t crc) {
  uint64_t wide = crc;
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; size > 0; --size, ++p) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*p));
  return crc;
}
#endif

}  // namespace

uint32_t detail::crc32c_by_table(std::span<const std::byte> bytes, uint32_t crc) {
  return ~crc_table(bytes.data(), bytes.size(), ~crc);
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) {
#if defined(__x86_64__)
  static const bool sse42 = __builtin_cpu_supports("sse4.2");
  if (sse42) return ~crc_sse42(bytes.data(), bytes.size(), ~crc);
#endif
  return detail::crc32c_by_table(bytes, crc);
}

}  // namespace cupel
