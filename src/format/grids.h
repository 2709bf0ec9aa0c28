// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <vector>

namespace cupel::format {

/// Tables of levels, 2^bits each, largest magnitude 1.

/// Quantiles of the normal distribution with an exact zero, ascending. At 4 bits these are the
/// published constants of NF4.
std::vector<float> normal_float(int bits);
/// The levels of least mean squared error for a normal source (Max 1960), ascending; at 2 to 6 bits
/// the best ones that are whole multiples of one unit, at most 127 of it.
std::vector<float> gaussian_levels(int bits);
/// The FP4 of bitsandbytes, by its bit patterns.
std::vector<float> bnb_fp4();
/// -1 to 1 in equal steps.
std::vector<float> even_levels(int bits);
/// sinh(alpha (u + offset)), ascending, u = -1 + 2 k / (2^bits - 1), over the largest magnitude.
std::vector<float> sinh_levels(int bits, double alpha, double offset);

}  // namespace cupel::format
