// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/weight_code.h"

namespace cupel::format {

/// A row of a matrix as an int8 vector times a number.
struct IntegerRow {
  std::vector<int8_t> values;  ///< [i]
  float scale = 0;
};

/// Row `row` of an MXFP4 or integer-mx code in that form, exactly: w_i = values_i * scale. Nothing
/// if it has none (the exponents of an MXFP4 row differ by more than 3, or another layout). Source:
/// the integer-exact microscaling seed: doubled E2M1 numbers are 0 to 12, so times 8 or times 10
/// they fit.
std::optional<IntegerRow> integer_row(const WeightCode& code, int64_t row);

}  // namespace cupel::format
