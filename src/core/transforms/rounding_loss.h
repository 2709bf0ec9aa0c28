// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "core/code.h"
#include "core/transform.h"

namespace cupel::core {

/// The metric under which a method's code fits its scales.
enum class FitMetric { plain, second_moment };

/// tr((W' - V') H' (W' - V')^T) over the matrices of the group, per token; V' is W' rounded plainly
/// with the code. The arguments must outlive the function. It needs a second moment;
/// Fault::data names a matrix that holds NaN or infinity.
TransformLoss rounding_loss(const MatrixGroup& group, const Stats& stats, const Code& code,
                            FitMetric fit);

/// The transform of a group for a method that rounds with this code.
MadeTransform transform_for(const Transform& transform, const MatrixGroup& group,
                            const Stats& stats, const Rng& rng, const Code& code, FitMetric fit);

}  // namespace cupel::core
