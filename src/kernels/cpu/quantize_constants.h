// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

namespace cupel::kernels {

/// Numbers of the activation blocks (scalar_quantize.cpp has the definition).
constexpr float kTinyBlock = 1e-30F;  ///< below it a block is zero; 32258 / 1e-30 is still finite
constexpr float kTwoPassRange = 32258.0F;  ///< 127 * 254
constexpr float kPassRatio = 1.0F / 254.0F;

}  // namespace cupel::kernels
