// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>

#include "format/input_rounding.h"

namespace cupel::format {
struct InputTransform;
}

namespace cupel::kernels {

/// What happens to a row before a multiplication. A format::InputTransform made ready: views of it,
/// and of the matrix of its Hadamard block's factor (format/hadamard.h), which lives as long as the
/// program. Then the rounding, which the caller of the transform carries out.
struct RowTransform {
  int block = 0;                   ///< of the Hadamard transform; 0 is none
  int factor = 1;                  ///< block = factor * a power of two
  const int8_t* matrix = nullptr;  ///< [factor, factor] of +1/-1; null for factor 1
  const int8_t* signs = nullptr;   ///< [n] or null
  const float* scale = nullptr;    ///< [n] or null
  format::InputRounding rounding;
  /// Of the transform alone.
  bool identity() const { return block <= 1 && !signs && !scale; }
};

/// Points into `transform`, which must outlive the result. Fault::data for a block whose Hadamard
/// matrix nobody can build.
RowTransform row_transform(const format::InputTransform& transform);

}  // namespace cupel::kernels
