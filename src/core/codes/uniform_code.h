// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "format/layouts/uniform.h"

namespace cupel::core {

/// The grid of one group: values scale * k for integers k in [low, high].
struct UniformGrid {
  float scale = 1;
  float step = 1;  ///< what targets are divided by: the scale, or infinity for a group of zeros
  float zero = 0;
  float low = 0, high = 0;
};

/// Fits such grids, scales rounded to float16, under the weights of the errors. Thread-safe.
class UniformFitter {
 public:
  UniformFitter(int bits, bool symmetric, ScaleRule rule)
      : rule_(rule), symmetric_(symmetric), top_(static_cast<float>((1 << bits) - 1)) {}
  UniformGrid fit(const float* w, const float* weight, int64_t n) const;

 private:
  /// The grid over [low, high], which holds zero.
  UniformGrid over(float low, float high) const;
  ScaleRule rule_;
  bool symmetric_;
  float top_;  ///< the highest code
};

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

/// New codes on the grids of another code of the same shape: nothing is fitted.
class GivenUniformCode : public Code {
 public:
  /// Of a uniform code.
  explicit GivenUniformCode(const format::WeightCode& grids);
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric& metric) const override;

 private:
  std::shared_ptr<const format::UniformLayout> layout_;
  at::Tensor scale_og_, zero_og_;  ///< float32 on the host
};

}  // namespace cupel::core
