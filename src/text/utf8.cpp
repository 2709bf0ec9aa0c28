// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/utf8.h"

#include <cstdint>
#include <cstring>

namespace cupel::text {
namespace {

struct Step {
  std::size_t length;  // of the character, or of the maximal subpart that is not valid
  bool valid;
  bool cut;  // the text ended inside a character that was valid so far
};

// Unicode table 3-7: which second bytes may follow a lead byte.
Step step(const unsigned char* p, std::size_t left) {
  const unsigned char lead = p[0];
  if (lead < 0x80) return {1, true, false};
  if (lead < 0xC2 || lead > 0xF4) return {1, false, false};
  const std::size_t need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  unsigned char low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  std::size_t have = 1;
  for (; have < need; ++have) {
    if (have >= left) return {have, false, true};
    if (p[have] < low || p[have] > high) return {have, false, false};
    low = 0x80;
    high = 0xBF;
  }
  return {need, true, false};
}

const unsigned char* bytes(std::string_view s) {
  return reinterpret_cast<const unsigned char*>(s.data());
}

}  // namespace

void utf8_append(std::string& out, char32_t c) {
  const auto put = [&](char32_t b) { out += static_cast<char>(static_cast<unsigned char>(b)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::size_t utf8_valid_prefix(std::string_view s) {
  const unsigned char* p = bytes(s);
  std::size_t i = 0;
  while (i < s.size()) {
    uint64_t eight;
    if (i + 8 <= s.size() && (std::memcpy(&eight, p + i, 8), !(eight & 0x8080808080808080u))) {
      i += 8;
      continue;
    }
    const Step at = step(p + i, s.size() - i);
    if (!at.valid) break;
    i += at.length;
  }
  return i;
}

std::size_t utf8_cut_tail(std::string_view s) {
  const unsigned char* p = bytes(s);
  for (std::size_t back = 1; back <= 3 && back <= s.size(); ++back) {
    const unsigned char b = p[s.size() - back];
    if ((b & 0xC0) == 0x80) continue;
    return step(p + s.size() - back, back).cut ? back : 0;
  }
  return 0;
}

std::string utf8_lossy(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  while (!s.empty()) {
    const std::size_t good = utf8_valid_prefix(s);
    out += s.substr(0, good);
    s.remove_prefix(good);
    if (s.empty()) break;
    s.remove_prefix(step(bytes(s), s.size()).length);
    out += "\xEF\xBF\xBD";
  }
  return out;
}

}  // namespace cupel::text
