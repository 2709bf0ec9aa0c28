// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "format/layouts/uniform.h"

/// For methods that fit the grids of the uniform layout themselves. Axes: o outputs, g groups of
/// inputs.
namespace cupel::quant {

/// The layout of a method that rounds to integer grids only; Fault::user for any other.
std::shared_ptr<const format::UniformLayout> integer_layout(std::string_view method,
                                                            const Choice& layout);

/// The nearest scale that float16 can store, positive and finite.
float stored_scale(float scale);

/// The arrays of a uniform code, to be changed in place. Not owned; different rows may be set by
/// different threads.
class IntegerArrays {
 public:
  IntegerArrays(format::WeightCode& code, const format::UniformLayout& layout);
  int64_t groups() const { return groups_; }
  float scale(int64_t o, int64_t g) const;
  /// A code: the middle of a symmetric layout.
  float zero(int64_t o, int64_t g) const;
  /// `codes` are whole numbers in [0, 2^bits), those of the group. A symmetric layout has no zero
  /// to set.
  void set(int64_t o, int64_t g, float scale, float zero, std::span<const float> codes);

 private:
  int64_t cols_, width_, groups_;
  float middle_;
  uint8_t* codes_;
  uint16_t* scales_;
  uint8_t* zeros_;  ///< null when symmetric
};

}  // namespace cupel::quant
