// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: the best scale of a block lies near the one that just holds its extreme; try those that can
// be stored, refit to the codes that came out, keep what has the least error.
// Formula: min over s of sum_i h_i (w_i - s g(w_i / s))^2; at fixed codes s = sum h g w / sum h
// g^2. Source: the searches of llama.cpp's quantizers, "Four Over Six" for the pair of scales.
// Cost: about 40 passes over the weights.
// Differs: scales are rounded to their stored type first, then judged.
#pragma once

#include <cmath>
#include <cstdint>

#include "format/grid_layout.h"

#ifdef __CUDACC__
#define CUPEL_HOST_DEVICE __host__ __device__
#else
#define CUPEL_HOST_DEVICE
#endif

/// The search for the scale of one block, once for hosts and GPUs: the same operations on the same
/// numbers, so that both choose the same bits.
namespace cupel::kernels {

/// What the scales of a grid can be.
struct ScaleKind {
  format::ScaleType type = format::ScaleType::f16;
  bool mirror = false;                    ///< a negative scale stands for the mirrored levels
  float largest = 1, second_largest = 1;  ///< magnitudes of the levels
  bool two_only = false;                  ///< the extreme on the largest level or on the second
};

/// A scale as it is stored, and what it is worth.
struct StoredScale {
  uint32_t bits = 0;
  float step = 0;    ///< the number times the outer scale
  float sign = 1;    ///< -1: the mirror image of the levels
  double error = 0;  ///< weighted, squared
};

/// What the least-squares scale of the same codes is made of.
struct LevelProducts {
  double weighted_level_square = 0;  ///< sum weight level^2
  double weighted_product = 0;       ///< sum weight level w
};

constexpr float kSmallestRatio = 0.4f, kLargestRatio = 1.3f;  // to the scale of the extreme
constexpr int kRatios = 46;
constexpr int kRefits = 3;
constexpr uint32_t kMirrorBit = 0x80;

// In what follows a Block knows the numbers of one block and how scales are stored:
//   uint32_t stored(float), float value(uint32_t)       as format::GridLayout has them
//   double error(float sign, float step)                of the block on these levels
//   LevelProducts products(float sign, float step)      of the codes that they give

template <class Block>
CUPEL_HOST_DEVICE StoredScale judged(const Block& block, uint32_t bits, float outer) {
  const float value = block.value(bits);
  StoredScale s;
  s.bits = bits;
  s.step = fabsf(value) * outer;
  s.sign = value < 0 ? -1.0f : 1.0f;
  s.error = block.error(s.sign, s.step);
  return s;
}

/// The scale whose largest level is the largest number of the block; its error is not measured.
template <class Block>
CUPEL_HOST_DEVICE StoredScale scale_of_extreme(const ScaleKind& kind, const Block& block,
                                               float extreme, float outer) {
  using format::ScaleType;
  StoredScale s;
  if (extreme == 0 && kind.type != ScaleType::e8m0 && kind.type != ScaleType::multiplier)
    return s;  // a scale of zero: zeros whatever the levels are
  const float wanted = extreme / kind.largest / outer;
  if (kind.type == ScaleType::e8m0) {
    // The rule of the specification: the exponent of the extreme less that of the largest level.
    const int exponent = extreme > 0 ? ilogbf(extreme) - ilogbf(kind.largest) : -127;
    s.bits = static_cast<uint32_t>((exponent < -127  ? -127
                                    : exponent > 127 ? 127
                                                     : exponent) +
                                   127);
  } else if (kind.type == ScaleType::multiplier) {
    s.bits = static_cast<uint32_t>(fminf(fmaxf(ceilf(wanted), 1.0f), format::kLargestMultiplier));
  } else {
    s.bits = block.stored(wanted);
  }
  s.step = block.value(s.bits) * outer;
  return s;
}

/// Calls use(bits) for the scales that are tried, those of the levels as they are.
template <class Block, class Use>
CUPEL_HOST_DEVICE void for_scales(const ScaleKind& kind, const Block& block, float extreme,
                                  float outer, const Use& use) {
  using format::ScaleType;
  if (kind.type == ScaleType::multiplier) {
    for (uint32_t m = 1; m <= static_cast<uint32_t>(format::kLargestMultiplier); ++m) use(m);
    return;
  }
  const float whole = extreme / kind.largest / outer;
  if (kind.two_only) {
    use(block.stored(whole));
    use(block.stored(extreme / kind.second_largest / outer));
  } else if (kind.type == ScaleType::e8m0) {
    const int middle = static_cast<int>(block.stored(whole));
    for (int e = middle < 2 ? 0 : middle - 2; e <= middle + 1 && e <= 254; ++e)
      use(static_cast<uint32_t>(e));
  } else {
    uint32_t last = 0;
    for (int k = 0; k < kRatios; ++k) {
      const uint32_t bits =
          block.stored(whole * (kSmallestRatio + (kLargestRatio - kSmallestRatio) *
                                                     static_cast<float>(k) / (kRatios - 1)));
      if (k > 0 && bits == last) continue;
      last = bits;
      use(bits);
    }
  }
}

template <class Block>
CUPEL_HOST_DEVICE StoredScale searched(const ScaleKind& kind, const Block& block, float extreme,
                                       float outer) {
  StoredScale least = scale_of_extreme(kind, block, extreme, outer);
  if (extreme == 0) return least;
  least.error = block.error(1.0f, least.step);
  for (uint32_t mirror = 0; mirror <= (kind.mirror ? kMirrorBit : 0); mirror += kMirrorBit)
    for_scales(kind, block, extreme, outer, [&](uint32_t bits) {
      const StoredScale s = judged(block, bits | mirror, outer);
      if (s.step > 0 && s.error < least.error) least = s;
    });
  return least;
}

/// Scales that least squares can move: types with many numbers.
CUPEL_HOST_DEVICE inline bool is_free(format::ScaleType type) {
  using format::ScaleType;
  return type == ScaleType::f16 || type == ScaleType::f32 || type == ScaleType::e4m3;
}

/// The least-squares scale of the codes that `from` gives, rounded, if it is better.
template <class Block>
CUPEL_HOST_DEVICE StoredScale refitted(StoredScale from, const Block& block, float outer) {
  for (int k = 0; k < kRefits; ++k) {
    const LevelProducts e = block.products(from.sign, from.step);
    if (!(e.weighted_product > 0) || !(e.weighted_level_square > 0)) break;
    const float value = static_cast<float>(e.weighted_product / e.weighted_level_square) / outer;
    const uint32_t bits = block.stored(from.sign < 0 ? -value : value);
    if (bits == from.bits) break;
    const StoredScale next = judged(block, bits, outer);
    if (!(next.error < from.error) || !(next.step > 0)) break;
    from = next;
  }
  return from;
}

}  // namespace cupel::kernels
