// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "format/layouts/uniform.h"

namespace cupel::core {

/// The integer grid: code = round(w / scale) + zero, halves to even, clamped to [0, 2^bits).
///
/// The range of a group always holds zero. Symmetric: scale = absmax / (2^(bits-1) - 1), so that
/// both extremes are representable and the lowest code (-8 of 4 bits) is only reached by feedback
/// or clipping. Asymmetric: scale = (max - min) / (2^bits - 1), zero = round(-min / scale). Scales
/// are rounded to float16 (at least its smallest positive number) before anything is divided by
/// them. A group of zeros has scale 1 and only zero codes.
class UniformCode : public Code {
 public:
  UniformCode(std::shared_ptr<const format::UniformLayout> layout, ScaleRule rule)
      : layout_(std::move(layout)), rule_(rule) {}
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const override;

 private:
  std::shared_ptr<const format::UniformLayout> layout_;
  ScaleRule rule_;
};

}  // namespace cupel::core
