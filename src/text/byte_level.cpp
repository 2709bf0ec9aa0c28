// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/byte_level.h"

#include "text/utf8.h"

namespace cupel::text {
namespace {

constexpr std::size_t kEnd = 0x100 + 68;  // characters of the alphabet lie below

struct Tables {
  std::array<char32_t, 256> character{};
  std::array<std::string, 256> utf8;
  std::array<int, kEnd> byte;

  Tables() {
    byte.fill(-1);
    char32_t next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      const bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      character[b] = itself ? b : next++;
      byte[character[b]] = static_cast<int>(b);
      utf8_append(utf8[b], character[b]);
    }
  }
};

const Tables& tables() {
  static const Tables t;
  return t;
}

}  // namespace

const std::array<char32_t, 256>& byte_alphabet() {
  return tables().character;
}

void append_byte_level(std::string& out, std::string_view bytes) {
  const Tables& t = tables();
  for (const char b : bytes) out += t.utf8[static_cast<unsigned char>(b)];
}

void append_byte_level_decoded(std::string& out, std::string_view token) {
  const Tables& t = tables();
  const std::size_t before = out.size();
  for (std::size_t pos = 0; pos < token.size();) {
    const char32_t c = utf8_next(token, pos);
    if (c >= kEnd || t.byte[c] < 0) {
      out.resize(before);
      out += token;
      return;
    }
    out += static_cast<char>(static_cast<unsigned char>(t.byte[c]));
  }
}

}  // namespace cupel::text
