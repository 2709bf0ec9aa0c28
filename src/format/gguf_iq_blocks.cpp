// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/gguf_iq_blocks.h"

#include <array>
#include <bit>
#include <string_view>

namespace cupel::format::blocks {
namespace {

#include "format/gguf_iq_grids.inl"

/// A code book of kCount entries of kWidth values, unpacked from text as gguf_iq_grids.inl says.
template <std::size_t kCount, std::size_t kWidth, std::size_t kLevels>
struct Grid {
  std::array<std::array<int8_t, kWidth>, kCount> entries;

  Grid(std::string_view text, const std::array<int8_t, kLevels>& levels) {
    std::size_t half = 0;
    for (const char c : text) {
      if (c == '\n') continue;
      auto digits = static_cast<std::size_t>(c - '(');
      for (std::size_t i = 0; i < kWidth / 2; ++i, digits /= kLevels)
        entries[half / 2][half % 2 * (kWidth / 2) + i] = levels[digits % kLevels];
      ++half;
    }
  }
};

using Levels3 = std::array<int8_t, 3>;
using Levels8 = std::array<int8_t, 8>;
constexpr Levels3 kTernary = {-1, 0, 1}, kPositive = {8, 25, 43};
constexpr Levels8 kSteps = {4, 12, 20, 28, 36, 44, 52, 62}, kOdd = {1, 3, 5, 7, 9, 11, 13, 15};

// Unpacked at the first use.
const auto& iq1_grid() {
  static const Grid<2048, 8, 3> grid(kIq1SGrid, kTernary);
  return grid.entries;
}
const auto& iq2_xxs_grid() {
  static const Grid<256, 8, 3> grid(kIq2XxsGrid, kPositive);
  return grid.entries;
}
const auto& iq2_xs_grid() {
  static const Grid<512, 8, 3> grid(kIq2XsGrid, kPositive);
  return grid.entries;
}
const auto& iq2_s_grid() {
  static const Grid<1024, 8, 3> grid(kIq2SGrid, kPositive);
  return grid.entries;
}
const auto& iq3_xxs_grid() {
  static const Grid<256, 4, 8> grid(kIq3XxsGrid, kSteps);
  return grid.entries;
}
const auto& iq3_s_grid() {
  static const Grid<512, 4, 8> grid(kIq3SGrid, kOdd);
  return grid.entries;
}

/// Signs of eight elements, seven of them stored: the number of minus signs is even.
unsigned even_signs(unsigned seven) {
  return seven | (static_cast<unsigned>(std::popcount(seven)) & 1) << 7;
}

/// An entry times `scale`; bit i of `signs` negates value i.
template <std::size_t kWidth>
void put_signed(const std::array<int8_t, kWidth>& entry, float scale, unsigned signs, float* out) {
  for (std::size_t i = 0; i < kWidth; ++i) {
    const float value = scale * static_cast<float>(entry[i]);
    out[i] = (signs >> i) & 1 ? -value : value;
  }
}

void put_shifted(const std::array<int8_t, 8>& entry, float scale, bool down, float* out) {
  const float delta = down ? -0.125f : 0.125f;
  for (std::size_t i = 0; i < 8; ++i) out[i] = scale * (static_cast<float>(entry[i]) + delta);
}

int nibble(const Byte* p, int i) {
  return (p[i / 2] >> (4 * (i % 2))) & 15;
}
float half_step(float d, int scale) {
  return d * (0.5f + static_cast<float>(scale));
}

}  // namespace

// d, 32 bytes of indices, a word for each 32 elements: three more index bits for each group of
// eight, a scale of three bits, the sign of the shift.
void iq1_s(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 32; ++i) {
    const auto word = load<uint16_t>(p + 34 + i / 4 * 2);
    const int index = p[2 + i] | ((word >> (3 * (i % 4))) & 7) << 8;
    const float scale = d * static_cast<float>(2 * ((word >> 12) & 7) + 1);
    put_shifted(iq1_grid()[static_cast<std::size_t>(index)], scale, word >> 15, out + 8 * i);
  }
}

// 32 bytes of indices, a nibble for each group of eight (three index bits, the sign of the shift),
// four words: scales of three bits for each 16 elements, a quarter of d in the top four bits.
void iq1_m(const Byte* p, float* out) {
  const auto word = [&](int i) { return load<uint16_t>(p + 48 + 2 * i); };
  unsigned bits = 0;
  for (int i = 0; i < 4; ++i) bits |= static_cast<unsigned>(word(i) >> 12) << (4 * i);
  const float d = f16_to_f32(static_cast<uint16_t>(bits));
  for (int i = 0; i < 32; ++i) {
    const int high = nibble(p + 32, i), index = p[i] | (high & 7) << 8;
    const int scale = (word(i / 8) >> (3 * (i / 2 % 4))) & 7;
    put_shifted(iq1_grid()[static_cast<std::size_t>(index)], d * static_cast<float>(2 * scale + 1),
                (high & 8) != 0, out + 8 * i);
  }
}

// d, for each 32 elements four indices and a word: four times seven signs, a scale.
void iq2_xxs(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 32; ++i) {
    const Byte* part = p + 2 + i / 4 * 8;
    const auto word = load<uint32_t>(part + 4);
    const float scale = half_step(d, static_cast<int>(word >> 28)) * 0.25f;
    put_signed(iq2_xxs_grid()[part[i % 4]], scale, even_signs((word >> (7 * (i % 4))) & 127),
               out + 8 * i);
  }
}

// d, a word for each group of eight (nine index bits, seven signs), scales for each 16 elements.
void iq2_xs(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 32; ++i) {
    const auto word = load<uint16_t>(p + 2 + 2 * i);
    const float scale = half_step(d, nibble(p + 66, i / 2)) * 0.25f;
    put_signed(iq2_xs_grid()[word & 511], scale, even_signs(word >> 9), out + 8 * i);
  }
}

// d, 32 bytes of indices, 32 of signs, two more index bits for each, scales for each 16 elements.
void iq2_s(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 32; ++i) {
    const int index = p[2 + i] | ((p[66 + i / 4] >> (2 * (i % 4))) & 3) << 8;
    const float scale = half_step(d, nibble(p + 74, i / 2)) * 0.25f;
    put_signed(iq2_s_grid()[static_cast<std::size_t>(index)], scale, p[34 + i], out + 8 * i);
  }
}

// d, 64 bytes of indices, a word for each 32 elements as in IQ2_XXS.
void iq3_xxs(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 64; ++i) {
    const auto word = load<uint32_t>(p + 66 + i / 8 * 4);
    const unsigned signs = even_signs((word >> (7 * (i / 2 % 4))) & 127);
    const float scale = half_step(d, static_cast<int>(word >> 28)) * 0.5f;
    put_signed(iq3_xxs_grid()[p[2 + i]], scale, signs >> (4 * (i % 2)), out + 4 * i);
  }
}

// d, 64 bytes of indices, a ninth bit for each, 32 bytes of signs, scales for each 32 elements.
void iq3_s(const Byte* p, float* out) {
  const float d = half(p);
  for (int i = 0; i < 64; ++i) {
    const int index = p[2 + i] | ((p[66 + i / 8] >> (i % 8)) & 1) << 8;
    const float scale = d * static_cast<float>(1 + 2 * nibble(p + 106, i / 8));
    put_signed(iq3_s_grid()[static_cast<std::size_t>(index)], scale, p[74 + i / 2] >> (4 * (i % 2)),
               out + 4 * i);
  }
}

}  // namespace cupel::format::blocks
