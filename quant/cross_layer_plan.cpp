// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "quant/cross_layer_plan.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/dot.h>

namespace cupel::quant {

void CrossLayerPlan::add_matrix(const std::string& name, const core::GradientStats* gradient) {
  gradient_ = gradient && gradient->input_sketch_ri.defined() ? gradient : nullptr;
  if (gradient_) matrices_.push_back({name, gradient_});
}

double CrossLayerPlan::add_change(std::size_t option, const at::Tensor& change_oi) {
  if (!gradient_) return 0;
  at::Tensor& sum = vectors_.back()[option];
  const at::Tensor v = core::damage_vector(*gradient_, change_oi);
  if (!sum.defined()) {
    sum = v;
    return 0;
  }
  const double shared = at::dot(sum, v).item<double>();
  sum = sum + v;
  return shared;
}

}  // namespace cupel::quant
