// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "format/element_type.h"

/// GGUF's blocks, one function per type: bytes of one block to its float32 values. Internal to this
/// module. The order of operations is that of the reference, so results are equal bit for bit.
namespace cupel::format::blocks {

using Byte = uint8_t;

template <class T>
T load(const Byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
inline float half(const Byte* p) {
  return f16_to_f32(load<uint16_t>(p));
}

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

/// Nibbles of 2 * n elements as above, each replaced by its value in a table of 16.
inline void looked_up(const Byte* p, int n, float d, const int8_t* table, float* out) {
  for (int i = 0; i < n; ++i) {
    out[i] = d * static_cast<float>(table[p[i] & 15]);
    out[i + n] = d * static_cast<float>(table[p[i] >> 4]);
  }
}
inline constexpr int8_t kNonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr int8_t kTwiceE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

inline void iq4_nl(const Byte* p, float* out) {
  looked_up(p + 2, 16, half(p), kNonlinear, out);
}
inline void iq4_xs(const Byte* p, float* out) {
  const float d = half(p);
  const auto high = load<uint16_t>(p + 2);
  for (int j = 0; j < 8; ++j) {
    const int low = (p[4 + j / 2] >> (4 * (j % 2))) & 15;
    const int scale = low | ((high >> (2 * j)) & 3) << 4;
    looked_up(p + 8 + 16 * j, 16, d * static_cast<float>(scale - 32), kNonlinear, out + 32 * j);
  }
}
inline void mxfp4(const Byte* p, float* out) {
  looked_up(p + 1, 16, std::ldexp(1.0f, p[0] - 128), kTwiceE2m1, out);
}
inline void nvfp4(const Byte* p, float* out) {
  for (int j = 0; j < 4; ++j) {
    const int exponent = (p[j] >> 3) & 15, fraction = p[j] & 7;
    const int leading = exponent == 0 ? 0 : 8;
    float d =
        std::ldexp(static_cast<float>(fraction + leading), (exponent > 0 ? exponent : 1) - 11);
    if (p[j] == 0x7f) d = 0;
    looked_up(p + 4 + 8 * j, 8, d, kTwiceE2m1, out + 16 * j);
  }
}

/// Base 3, five digits in a byte: digit n is the top of (byte * 3^n mod 256) * 3.
inline void trits(const Byte* p, int bytes, int digits, float d, float* out) {
  int power = 1;
  for (int n = 0; n < digits; ++n, power *= 3)
    for (int i = 0; i < bytes; ++i) {
      const int rest = (p[i] * power) & 255;
      *out++ = static_cast<float>(((rest * 3) >> 8) - 1) * d;
    }
}
inline void tq1_0(const Byte* p, float* out) {
  const float d = half(p + 52);
  trits(p, 32, 5, d, out);
  trits(p + 32, 16, 5, d, out + 160);
  trits(p + 48, 4, 4, d, out + 240);
}
inline void tq2_0(const Byte* p, float* out) {
  const float d = half(p + 64);
  for (int i = 0; i < 256; ++i) {
    const int code = (p[i / 128 * 32 + i % 32] >> (2 * (i / 32 % 4))) & 3;
    out[i] = static_cast<float>(code - 1) * d;
  }
}
inline void q1_0(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 128; ++i) out[i] = (p[2 + i / 8] >> (i % 8)) & 1 ? d : -d;
}

}  // namespace cupel::format::blocks
