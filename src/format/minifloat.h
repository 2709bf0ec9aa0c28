// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cupel::format {

/// Floating-point numbers of 4 to 8 bits: sign, exponent, mantissa (OCP Microscaling Formats).
enum class MiniFloat { e2m1, e2m3, e3m2, e4m3, e5m2 };

int minifloat_bits(MiniFloat type);
std::string_view minifloat_name(MiniFloat type);
/// The number of each bit pattern; NaN where the pattern is infinity or NaN.
std::vector<float> minifloat_values(MiniFloat type);
/// The nearest number, ties to the even mantissa, saturating; `value` must not be NaN. A zero keeps
/// its sign.
uint8_t to_minifloat(MiniFloat type, float value);
float from_minifloat(MiniFloat type, uint8_t bits);

/// Powers of two of one byte (E8M0): 2^(bits - 127); 255 is NaN.
float from_e8m0(uint8_t bits);

}  // namespace cupel::format
