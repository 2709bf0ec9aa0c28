// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/gguf_blocks.h"

/// GGUF's K-quants: super-blocks of 256 elements in sub-blocks with scales of their own. Internal
/// to this module.
namespace cupel::format::blocks {

/// Two bits of element i: 32 bytes hold four runs of 32 elements, at shifts 0, 2, 4, 6.
inline int two_bits(const Byte* qs, int i) {
  return (qs[i / 128 * 32 + i % 32] >> (2 * (i / 32 % 4))) & 3;
}

inline void q2_k(const Byte* p, float* out) {
  const Byte *scales = p, *qs = p + 16;
  const float d = half(p + 80), d_min = half(p + 82);
  for (int i = 0; i < 256; ++i) {
    const int scale = scales[i / 16];
    out[i] = d * static_cast<float>(scale & 15) * static_cast<float>(two_bits(qs, i)) -
             d_min * static_cast<float>(scale >> 4);
  }
}

inline void q3_k(const Byte* p, float* out) {
  const Byte *high = p, *qs = p + 32, *scales = p + 96;
  const float d = half(p + 108);
  for (int i = 0; i < 256; ++i) {
    const int j = i / 16;
    const int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
    const int scale = low | ((scales[8 + j % 4] >> (2 * (j / 4))) & 3) << 4;
    const int missing = (high[i % 32] >> (i / 32)) & 1 ? 0 : 4;
    out[i] = d * static_cast<float>(scale - 32) * static_cast<float>(two_bits(qs, i) - missing);
  }
}

/// Scale and minimum of sub-block j: eight pairs of six bits in twelve bytes.
struct ScaleMin {
  int scale, min;
};
inline ScaleMin scale_min(const Byte* b, int j) {
  if (j < 4) return {b[j] & 63, b[j + 4] & 63};
  return {(b[j + 4] & 15) | (b[j - 4] >> 6) << 4, (b[j + 4] >> 4) | (b[j] >> 6) << 4};
}

/// Q4_K and Q5_K; `high` holds the fifth bits (bit j of byte l: element l of sub-block j) or is
/// nullptr.
inline void q45_k(const Byte* p, const Byte* high, const Byte* qs, float* out) {
  const float d = half(p), d_min = half(p + 2);
  for (int j = 0; j < 8; ++j) {
    const ScaleMin s = scale_min(p + 4, j);
    const float scale = d * static_cast<float>(s.scale), min = d_min * static_cast<float>(s.min);
    for (int l = 0; l < 32; ++l) {
      int q = (qs[j / 2 * 32 + l] >> (4 * (j % 2))) & 15;
      if (high) q |= ((high[l] >> j) & 1) << 4;
      out[32 * j + l] = scale * static_cast<float>(q) - min;
    }
  }
}
inline void q4_k(const Byte* p, float* out) {
  q45_k(p, nullptr, p + 16, out);
}
inline void q5_k(const Byte* p, float* out) {
  q45_k(p, p + 16, p + 48, out);
}

inline void q6_k(const Byte* p, float* out) {
  const float d = half(p + 208);
  for (int h = 0; h < 2; ++h) {
    const Byte *low = p + 64 * h, *high = p + 128 + 32 * h, *scales = p + 192 + 8 * h;
    for (int i = 0; i < 128; ++i) {
      const int run = i / 32, l = i % 32;
      const int nibble = (low[l + 32 * (run % 2)] >> (4 * (run / 2))) & 15;
      const int q = nibble | ((high[l] >> (2 * run)) & 3) << 4;
      const float scale = d * static_cast<float>(static_cast<int8_t>(scales[i / 16]));
      out[128 * h + i] = scale * static_cast<float>(q - 32);
    }
  }
}

}  // namespace cupel::format::blocks
