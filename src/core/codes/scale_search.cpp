// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: the best scale of a block lies near the one that just holds its extreme; try those that can
// be stored, refit to the codes that came out, keep what has the least error.
// Formula: min over s of sum_i h_i (w_i - s g(w_i / s))^2; at fixed codes s = sum h g w / sum h
// g^2. Source: "Four Over Six" for the pair of scales; the sweep over breakpoints is CoS-VQ's in
// one dimension. Cost: about 40 passes over the weights; the sweep sorts levels x weights
// breakpoints. Differs: scales are rounded to their stored type first, then judged.
#include "core/codes/scale_search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace cupel::core {
namespace {

using format::ScaleType;

constexpr float kSmallestRatio = 0.4f, kLargestRatio = 1.3f;  // to the scale of the extreme
constexpr int kRatios = 46;
constexpr int kRefits = 3;

float extreme_of(std::span<const float> w) {
  float largest = 0;
  for (const float x : w) largest = std::max(largest, std::fabs(x));
  return largest;
}

}  // namespace

StoredScale ScaleSearch::judged(uint32_t bits, std::span<const float> w, const float* weight,
                                float outer) const {
  const float value = layout_.scale_value(bits);
  StoredScale s{.bits = bits, .step = std::fabs(value) * outer};
  s.sign = layout_.spec().mirror && std::signbit(value) ? -1.0f : 1.0f;
  s.error = grid_error(levels_, s.sign, s.step, w, weight);
  return s;
}

StoredScale ScaleSearch::from_extremes(std::span<const float> w, float outer) const {
  const float extreme = extreme_of(w);
  StoredScale s;
  if (extreme == 0 && layout_.spec().scale != ScaleType::e8m0 &&
      layout_.spec().scale != ScaleType::multiplier)
    return s;  // a scale of zero: zeros whatever the levels are
  const float wanted = extreme / levels_.largest() / outer;
  if (layout_.spec().scale == ScaleType::e8m0) {
    // The rule of the specification: the exponent of the extreme less that of the largest level.
    const int exponent = extreme > 0 ? std::ilogb(extreme) - std::ilogb(levels_.largest()) : -127;
    s.bits = static_cast<uint32_t>(std::clamp(exponent, -127, 127) + 127);
  } else if (layout_.spec().scale == ScaleType::multiplier) {
    s.bits = static_cast<uint32_t>(std::clamp(std::ceil(wanted), 1.0f, format::kLargestMultiplier));
  } else {
    s.bits = layout_.stored_scale(wanted);
  }
  s.step = layout_.scale_value(s.bits) * outer;
  return s;
}

/// Scales that are tried, as they are stored.
std::vector<uint32_t> ScaleSearch::candidates(float extreme, float outer) const {
  const auto& spec = layout_.spec();
  std::vector<uint32_t> list;
  const auto add = [&](uint32_t bits) {
    if (std::ranges::find(list, bits) == list.end()) list.push_back(bits);
  };
  if (spec.scale == ScaleType::multiplier) {
    for (uint32_t m = 1; m <= static_cast<uint32_t>(format::kLargestMultiplier); ++m) add(m);
    return list;
  }
  const float whole = extreme / levels_.largest() / outer;
  if (rule_ == ScaleRule::four_over_six) {
    add(layout_.stored_scale(whole));
    add(layout_.stored_scale(extreme / levels_.second_largest() / outer));
  } else if (spec.scale == ScaleType::e8m0) {
    const auto middle = static_cast<int>(layout_.stored_scale(whole));
    for (int e = std::max(middle - 2, 0); e <= std::min(middle + 1, 254); ++e)
      add(static_cast<uint32_t>(e));
  } else {
    for (int k = 0; k < kRatios; ++k)
      add(layout_.stored_scale(whole *
                               (kSmallestRatio + (kLargestRatio - kSmallestRatio) *
                                                     static_cast<float>(k) / (kRatios - 1))));
  }
  if (spec.mirror)
    for (std::size_t k = 0, n = list.size(); k < n; ++k) add(list[k] | 0x80u);
  return list;
}

/// The least-squares scale of the codes that `from` gives, rounded, if it is better.
StoredScale ScaleSearch::refitted(StoredScale from, std::span<const float> w, const float* weight,
                                  float outer) const {
  for (int k = 0; k < kRefits; ++k) {
    const LevelProducts e = level_products(levels_, from.sign, from.step, w, weight);
    if (!(e.weighted_product > 0) || !(e.weighted_level_square > 0)) break;
    const auto value = static_cast<float>(e.weighted_product / e.weighted_level_square) / outer;
    const uint32_t bits = layout_.stored_scale(from.sign < 0 ? -value : value);
    if (bits == from.bits) break;
    const StoredScale next = judged(bits, w, weight, outer);
    if (!(next.error < from.error)) break;
    from = next;
  }
  return from;
}

/// The best scale of all: between two breakpoints, where a weight changes its level, the codes are
/// fixed and the best scale is known.
StoredScale ScaleSearch::swept(std::span<const float> w, const float* weight, float outer,
                               float sign) const {
  struct Break {
    float step;
    uint32_t weight, level;  ///< from this step down to the next the weight has this level
  };
  std::vector<Break> breaks;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float x = sign * w[i];
    for (int k = 0; k + 1 < levels_.count(); ++k) {
      const float limit = levels_.thresholds()[k];
      if (limit == 0 || x / limit <= 0) continue;  // as the step falls, x / step moves away from 0
      breaks.push_back(
          {x / limit, static_cast<uint32_t>(i), static_cast<uint32_t>(limit > 0 ? k + 1 : k)});
    }
  }
  std::ranges::sort(breaks, [](const Break& a, const Break& b) {
    return a.step != b.step       ? a.step > b.step
           : a.weight != b.weight ? a.weight < b.weight
                                  : a.level < b.level;
  });
  // A step larger than every breakpoint: everything is on the level next to zero, on its side.
  std::vector<int> index(w.size());
  double square = 0, product = 0, energy = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double x = static_cast<double>(sign) * static_cast<double>(w[i]);
    index[i] = levels_.nearest(static_cast<float>(std::copysign(1e-30, x)));
    const double level = levels_.values()[index[i]], h = weight[i];
    square += h * level * level;
    product += h * level * x;
    energy += h * x * x;
  }
  StoredScale best;
  best.error = energy;
  best.sign = sign;
  double gain = 0, wanted = 0;
  for (std::size_t b = 0; b < breaks.size(); ++b) {
    const std::size_t i = breaks[b].weight;
    const double from = levels_.values()[index[i]], h = weight[i];
    const double x = static_cast<double>(sign) * static_cast<double>(w[i]);
    index[i] = static_cast<int>(breaks[b].level);
    const double to = levels_.values()[index[i]];
    square += h * (to * to - from * from);
    product += h * x * (to - from);
    if (square > 0 && product > 0 && product * product / square > gain) {
      gain = product * product / square;
      wanted = product / square;
    }
  }
  if (gain <= 0) return judged(layout_.stored_scale(0), w, weight, outer);
  const auto value = static_cast<float>(wanted) / outer;
  return judged(layout_.stored_scale(sign < 0 ? -value : value), w, weight, outer);
}

StoredScale ScaleSearch::best(std::span<const float> w, const float* weight, float outer) const {
  const float extreme = extreme_of(w);
  StoredScale least = from_extremes(w, outer);
  if (extreme == 0 || rule_ == ScaleRule::minmax) return least;
  least.error = grid_error(levels_, 1, least.step, w, weight);
  const auto consider = [&](const StoredScale& s) {
    if (s.step > 0 && s.error < least.error) least = s;
  };
  for (const uint32_t bits : candidates(extreme, outer)) consider(judged(bits, w, weight, outer));
  const bool free_scale = layout_.spec().scale == ScaleType::f16 ||
                          layout_.spec().scale == ScaleType::f32 ||
                          layout_.spec().scale == ScaleType::e4m3;
  if (rule_ == ScaleRule::exact && free_scale) {
    consider(swept(w, weight, outer, 1));
    if (layout_.spec().mirror) consider(swept(w, weight, outer, -1));
  }
  if (rule_ != ScaleRule::four_over_six && free_scale) consider(refitted(least, w, weight, outer));
  return least;
}

}  // namespace cupel::core
