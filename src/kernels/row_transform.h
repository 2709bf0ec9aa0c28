// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>

namespace cupel::format {
struct InputTransform;
}

namespace cupel::kernels {

/// A format::InputTransform made ready for rows: views of it, and of the matrix of its Hadamard
/// block's factor (format/hadamard.h), which lives as long as the program.
struct RowTransform {
  int block = 0;                   ///< of the Hadamard transform; 0 is none
  int factor = 1;                  ///< block = factor * a power of two
  const int8_t* matrix = nullptr;  ///< [factor, factor] of +1/-1; null for factor 1
  const int8_t* signs = nullptr;   ///< [n] or null
  const float* scale = nullptr;    ///< [n] or null
  bool identity() const { return block <= 1 && !signs && !scale; }
};

/// Points into `transform`, which must outlive the result. Fault::data for a block whose Hadamard
/// matrix nobody can build.
RowTransform row_transform(const format::InputTransform& transform);

}  // namespace cupel::kernels
