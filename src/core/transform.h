// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "base/rng.h"
#include "format/weight_code.h"

namespace cupel::core {

// Axes: o outputs, i inputs. T acts on the input x; W' = W T^-1 is what gets rounded, H' = T H T^T
// its second moment.

struct HadamardParams : Params {
  int block = 128;
  void visit(ParamVisitor& v) override;
};

/// `none`, `hadamard`: the choices of the recipe's `transform`.
const std::vector<Alternative>& transform_alternatives();

/// The transform of a group of matrices: signs come from `rng` and the group's name alone. A
/// Hadamard block that does not divide the inputs becomes the largest power of two that does (none
/// for an odd width).
format::InputTransform make_transform(const Choice& choice, std::string_view group, int64_t inputs,
                                      const Rng& rng);
/// What became of the recipe's wish, if not what it says: "hadamard block 64 (128 does not divide
/// 576 inputs)".
std::string transform_note(const Choice& choice, const format::InputTransform& transform,
                           int64_t inputs);

/// W T^-1 in float32, computed in float64, on the device of w.
at::Tensor transform_weight(const format::InputTransform& transform, const at::Tensor& w_oi);
/// T H T^T in float64, on the device of h.
at::Tensor transform_second_moment(const format::InputTransform& transform, const at::Tensor& h_ii);

}  // namespace cupel::core
