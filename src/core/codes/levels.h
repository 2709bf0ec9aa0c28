// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/scale_choice.h"

namespace cupel::core {

/// The distinct levels of a grid in ascending order, made ready to round to: thresholds lie in the
/// middle of two neighbours, and a target in the middle goes to the even code (of equal parity: to
/// the smaller level), which for floats is the even mantissa.
class Levels {
 public:
  /// `levels` by code; NaN for codes that must not occur.
  explicit Levels(std::span<const float> levels);
  int count() const { return static_cast<int>(values_.size()); }
  const float* values() const { return values_.data(); }          ///< [count]
  const float* thresholds() const { return thresholds_.data(); }  ///< [count - 1]
  uint8_t code(int index) const { return codes_[static_cast<std::size_t>(index)]; }
  float largest() const { return largest_; }                ///< magnitude
  float second_largest() const { return second_largest_; }  ///< magnitude below it
  /// Index of the level nearest to t.
  int nearest(float t) const;

 private:
  std::vector<float> values_, thresholds_;
  std::vector<uint8_t> codes_;
  float largest_ = 0, second_largest_ = 0;
};

/// sum_i weight_i (w_i - s level(w_i / s))^2. `sign` -1 rounds to the mirror image of the levels.
/// The order of the sum is fixed.
double grid_error(const Levels& levels, float sign, float step, std::span<const float> w,
                  const float* weight);

using kernels::LevelProducts;
LevelProducts level_products(const Levels& levels, float sign, float step, std::span<const float> w,
                             const float* weight);

}  // namespace cupel::core
