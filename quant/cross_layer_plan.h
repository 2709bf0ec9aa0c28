// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/allocator.h"
#include "core/cross_layer.h"

namespace cupel::quant {

/// What a plan's options do to the loss together, and how fragile its matrices are. The gradients'
/// statistics must outlive it.
class CrossLayerPlan {
 public:
  /// What is added next belongs to a new unit of so many options.
  void start_unit(std::size_t options) { vectors_.emplace_back(options); }
  void add_matrix(const std::string& name, const core::GradientStats* gradient);
  /// Adds the change of the matrix named last by one option; returns what it costs together with
  /// the unit's matrices before it. Nothing for a matrix that no gradient reached.
  double add_change(std::size_t option, const at::Tensor& change_oi);

  /// For core::allocate_coupled; the ladders must be those of the units.
  core::Couplings couplings(const std::vector<core::Ladder>& ladders) const {
    return core::couplings(vectors_, ladders);
  }
  std::vector<core::Sensitivity> sensitivities() const { return core::sensitivities(matrices_); }

 private:
  const core::GradientStats* gradient_ = nullptr;  ///< of the matrix named last
  std::vector<core::SketchedMatrix> matrices_;
  std::vector<std::vector<at::Tensor>> vectors_;  ///< [unit][option]: sums over its matrices
};

}  // namespace cupel::quant
