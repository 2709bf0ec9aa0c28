// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/params.h"
#include "core/stats.h"
#include "format/weight_code.h"

namespace cupel::core {

struct MatrixResult;

/// The recipe's `activations`: how the inputs of a multiplication are rounded, after the input
/// transform. `none`, `int8`, `int4`, `fp8`, each with a scale of its own in every token (or group
/// of inputs) or one from calibration.
const std::vector<Alternative>& activation_alternatives();
/// A static scale is found among the inputs themselves: their transform is known only when the
/// method has made it.
Needs activation_needs(const Choice& activations);
/// For people: "int8 per token", "int8, static scale"; "" for none.
std::string activation_text(const Choice& activations);

/// What the choice means for a group.
struct ChosenRounding {
  format::InputRounding rounding;
  std::string fallback;  ///< not empty: what takes the place of a static scale, and why
};
ChosenRounding rounding_for(const Choice& activations, const format::InputTransform& transform,
                            const Stats& stats);

/// Decides how the input of these matrices is rounded, which share it and its transform, and says
/// so in their notes. Where calibration has no answer the scale is each token's own, as a fallback
/// by name. A rounding that the method has chosen itself stays.
void round_inputs(const Choice& activations, std::span<MatrixResult> results, const Stats& stats);

}  // namespace cupel::core
