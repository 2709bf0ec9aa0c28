// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>

#include "format/checkpoint.h"

namespace cupel::cli {

/// Bytes and parameters of a model. A tied head counts once. `matrices` are those stored in a
/// quantized layout.
struct ModelSize {
  int64_t file_bytes = 0, parameters = 0;
  int64_t matrix_bytes = 0, matrix_parameters = 0;
  double bits_per_weight() const {
    return parameters ? 8.0 * static_cast<double>(file_bytes) / static_cast<double>(parameters) : 0;
  }
  double bits_per_weight_matrices() const {
    return matrix_parameters
               ? 8.0 * static_cast<double>(matrix_bytes) / static_cast<double>(matrix_parameters)
               : 0;
  }
};
ModelSize size_of(const format::Checkpoint& checkpoint);
/// A model of this shape with every weight at `bits`.
ModelSize dense_size(const format::ModelConfig& config, int bits);

}  // namespace cupel::cli
