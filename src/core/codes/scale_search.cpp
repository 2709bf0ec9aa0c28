// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// The sweep over breakpoints is CoS-VQ's in one dimension; it sorts levels x weights of them. The
// rest is kernels/scale_choice.h.
#include "core/codes/scale_search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace cupel::core {
namespace {

/// The block as the shared search sees it.
struct HostBlock {
  const format::GridLayout& layout;
  const Levels& levels;
  std::span<const float> w;
  const float* weight;

  uint32_t stored(float value) const { return layout.stored_scale(value); }
  float value(uint32_t bits) const { return layout.scale_value(bits); }
  double error(float sign, float step) const { return grid_error(levels, sign, step, w, weight); }
  kernels::LevelProducts products(float sign, float step) const {
    return level_products(levels, sign, step, w, weight);
  }
};

float extreme_of(std::span<const float> w) {
  float largest = 0;
  for (const float x : w) largest = std::max(largest, std::fabs(x));
  return largest;
}

}  // namespace

kernels::ScaleKind scale_kind(const format::GridLayout& layout, const Levels& levels,
                              ScaleRule rule) {
  return {.type = layout.spec().scale,
          .mirror = layout.spec().mirror,
          .largest = levels.largest(),
          .second_largest = levels.second_largest(),
          .two_only = rule == ScaleRule::four_over_six};
}

/// The best scale of all: between two breakpoints, where a weight changes its level, the codes are
/// fixed and the best scale is known.
StoredScale ScaleSearch::swept(std::span<const float> w, const float* weight, float outer,
                               float sign) const {
  const HostBlock block{layout_, levels_, w, weight};
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
  if (gain <= 0) return kernels::judged(block, layout_.stored_scale(0), outer);
  const auto value = static_cast<float>(wanted) / outer;
  return kernels::judged(block, layout_.stored_scale(sign < 0 ? -value : value), outer);
}

StoredScale ScaleSearch::best(std::span<const float> w, const float* weight, float outer) const {
  const HostBlock block{layout_, levels_, w, weight};
  const float extreme = extreme_of(w);
  if (extreme == 0 || rule_ == ScaleRule::minmax)
    return kernels::scale_of_extreme(kind_, block, extreme, outer);
  StoredScale least = kernels::searched(kind_, block, extreme, outer);
  if (rule_ == ScaleRule::four_over_six || !kernels::is_free(kind_.type)) return least;
  if (rule_ == ScaleRule::exact)
    for (const float sign : {1.0f, -1.0f}) {
      if (sign < 0 && !kind_.mirror) continue;
      const StoredScale s = swept(w, weight, outer, sign);
      if (s.step > 0 && s.error < least.error) least = s;
    }
  return kernels::refitted(least, block, outer);
}

}  // namespace cupel::core
