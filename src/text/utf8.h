// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cupel::text {

/// Length of the character that starts with this byte, in text that is known to be valid.
inline std::size_t utf8_length(char lead) {
  const auto b = static_cast<unsigned char>(lead);
  return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

/// The character at `pos` of valid text; `pos` moves behind it.
inline char32_t utf8_next(std::string_view s, std::size_t& pos) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(s[i]));
  };
  const char32_t lead = byte(pos);
  const std::size_t start = pos;
  pos += utf8_length(s[start]);
  switch (pos - start) {
    case 1:
      return lead;
    case 2:
      return (lead & 0x1F) << 6 | (byte(start + 1) & 0x3F);
    case 3:
      return (lead & 0x0F) << 12 | (byte(start + 1) & 0x3F) << 6 | (byte(start + 2) & 0x3F);
    default:
      return (lead & 0x07) << 18 | (byte(start + 1) & 0x3F) << 12 | (byte(start + 2) & 0x3F) << 6 |
             (byte(start + 3) & 0x3F);
  }
}

/// Start of the character before `pos` (> 0) in valid text.
inline std::size_t utf8_before(std::string_view s, std::size_t pos) {
  do --pos;
  while (pos > 0 && (static_cast<unsigned char>(s[pos]) & 0xC0) == 0x80);
  return pos;
}

void utf8_append(std::string& out, char32_t c);

/// Length of the valid text at the front of `s`.
std::size_t utf8_valid_prefix(std::string_view s);

/// Bytes at the end of `s` that start a character and lack its end; 0 if there are none.
std::size_t utf8_cut_tail(std::string_view s);

/// The text with U+FFFD in place of each maximal subpart that is not valid (what Python, Rust and
/// browsers do).
std::string utf8_lossy(std::string_view s);

}  // namespace cupel::text
