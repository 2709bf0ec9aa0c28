// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/code.h"
#include "core/codes/levels.h"
#include "format/grid_layout.h"

namespace cupel::core {

// Axes: o outputs, i inputs, b blocks along the outputs, g blocks along the inputs.

/// All scales of a matrix on a grid of levels, as they are stored.
struct GridScales {
  std::vector<uint32_t> bits_bg;
  std::vector<float> outer;  ///< above the blocks': one, one for each row, or none
};

/// Fits the scales of w_oi (contiguous, float32) where it lies; on either device the same bits.
/// Fits by the exact sweep, and blocks of very many numbers, run on the host.
GridScales fit_scales(const format::GridLayout& layout, const Levels& levels, ScaleRule rule,
                      const at::Tensor& w_oi, const Metric& metric);

/// Fits blocks of one matrix under given outer scales.
class BlockFitter {
 public:
  virtual ~BlockFitter() = default;
  virtual std::vector<uint32_t> bits_bg(const std::vector<float>& outer) const = 0;
  /// Errors that these bits leave, summed over g in order.
  virtual std::vector<double> error_b(const std::vector<float>& outer) const = 0;
};

/// What a fitter works on; it must outlive the fitter.
struct GridProblem {
  const format::GridLayout& layout;
  const Levels& levels;
  ScaleRule rule;
  const at::Tensor& w_oi;
  const Metric& metric;
};

/// Whether the GPU that the matrix lies on can fit its blocks.
bool fits_on_device(const GridProblem& problem);
std::unique_ptr<BlockFitter> device_fitter(const GridProblem& problem);

}  // namespace cupel::core
