// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <span>

#include "core/code.h"
#include "core/codes/levels.h"
#include "format/grid_layout.h"

namespace cupel::core {

/// A scale as it is stored, and what it is worth.
struct StoredScale {
  uint32_t bits = 0;
  float step = 0;    ///< the number times the outer scale
  float sign = 1;    ///< -1: the mirror image of the levels
  double error = 0;  ///< weighted, squared
};

/// Chooses the scale of one block among those that its layout can store. Source: the searches of
/// llama.cpp's quantizers, "Four Over Six", GPTQ's --mse; one for all layouts. Thread-safe.
class ScaleSearch {
 public:
  ScaleSearch(const format::GridLayout& layout, const Levels& levels, ScaleRule rule)
      : layout_(layout), levels_(levels), rule_(rule) {}
  StoredScale best(std::span<const float> w, const float* weight, float outer) const;
  /// The scale whose largest level is the largest number of the block.
  StoredScale from_extremes(std::span<const float> w, float outer) const;

 private:
  StoredScale judged(uint32_t bits, std::span<const float> w, const float* weight,
                     float outer) const;
  StoredScale refitted(StoredScale from, std::span<const float> w, const float* weight,
                       float outer) const;
  StoredScale swept(std::span<const float> w, const float* weight, float outer, float sign) const;
  std::vector<uint32_t> candidates(float extreme, float outer) const;

  const format::GridLayout& layout_;
  const Levels& levels_;
  ScaleRule rule_;
};

}  // namespace cupel::core
