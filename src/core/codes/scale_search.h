// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <span>

#include "core/code.h"
#include "core/codes/levels.h"
#include "format/grid_layout.h"
#include "kernels/scale_choice.h"

namespace cupel::core {

using kernels::StoredScale;

/// What the shared search has to know of the scales of a layout.
kernels::ScaleKind scale_kind(const format::GridLayout& layout, const Levels& levels,
                              ScaleRule rule);

/// Chooses the scale of one block among those that its layout can store. Source: the searches of
/// llama.cpp's quantizers, "Four Over Six", GPTQ's --mse; one for all layouts. Thread-safe.
class ScaleSearch {
 public:
  ScaleSearch(const format::GridLayout& layout, const Levels& levels, ScaleRule rule)
      : layout_(layout), levels_(levels), rule_(rule), kind_(scale_kind(layout, levels, rule)) {}
  StoredScale best(std::span<const float> w, const float* weight, float outer) const;

 private:
  StoredScale swept(std::span<const float> w, const float* weight, float outer, float sign) const;

  const format::GridLayout& layout_;
  const Levels& levels_;
  ScaleRule rule_;
  kernels::ScaleKind kind_;
};

}  // namespace cupel::core
