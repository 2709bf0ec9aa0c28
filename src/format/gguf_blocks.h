// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "format/element_type.h"

/// GGUF's blocks, one function per type: bytes of one block to its float32 values. Internal to this module.
/// The order of operations is that of the reference, so results are equal bit for bit.
namespace cupel::format::blocks {

using Byte = uint8_t;

template <class T>
T load(const Byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
inline float half(const Byte* p) { return f16_to_f32(load<uint16_t>(p)); }

// Blocks of 32: 16 bytes of nibbles, the low ones are elements 0-15, the high ones 16-31.
inline void q4_0(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((p[2 + i] & 15) - 8);
    out[i + 16] = d * static_cast<float>((p[2 + i] >> 4) - 8);
  }
}
inline void q4_1(const Byte* p, float* out) {
  const float d = half(p), m = half(p + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(p[4 + i] & 15) + m;
    out[i + 16] = d * static_cast<float>(p[4 + i] >> 4) + m;
  }
}
/// Bit i of the word at `high` is bit 4 of element i.
inline int five_bits(const Byte* high, const Byte* low, int i) {
  const int nibble = i < 16 ? low[i] & 15 : low[i - 16] >> 4;
  return nibble | static_cast<int>((load<uint32_t>(high) >> i) & 1) << 4;
}
inline void q5_0(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(five_bits(p + 2, p + 6, i) - 16);
}
inline void q5_1(const Byte* p, float* out) {
  const float d = half(p), m = half(p + 2);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(five_bits(p + 4, p + 8, i)) + m;
}
inline void q8_0(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<int8_t>(p[2 + i]));
}

}  // namespace cupel::format::blocks
