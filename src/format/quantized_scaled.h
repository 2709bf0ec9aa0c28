// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <span>

#include "format/quantized_scheme.h"

/// Small floats and bytes that share scales by blocks of a matrix. Internal to this module.
namespace cupel::format {

/// Rows and columns of a matrix that share a scale; at the edges blocks are cut off.
struct ScaleBlock {
  int64_t rows = 1, cols = 1;
  friend bool operator==(const ScaleBlock&, const ScaleBlock&) = default;
};

/// A tensor [rows, cols] or [slabs, rows, cols] of numbers (element - zero) * scale * multiplier /
/// divisor.
struct ScaledParts {
  std::string name;
  std::vector<int64_t> shape;
  std::string stored_as;
  const TensorEntry* elements = nullptr;
  ElementType type = ElementType::f8_e4m3;  ///< what the bytes of `elements` are
  const TensorEntry* scales = nullptr;
  ElementType scale_type = ElementType::f32;
  ScaleBlock block;
  const TensorEntry* zeros = nullptr;         ///< of the shape of `scales`, or none
  const TensorEntry* tensor_scale = nullptr;  ///< of the whole tensor, or none
  float multiplier = 1, divisor = 1;
  bool output_major = false;
};
/// Fault::data when the bytes of an entry are not those of the shape.
std::unique_ptr<StoredTensor> make_scaled(ScaledParts parts);

/// The block with which scales of this shape cover a tensor: one of `known`, a row, or everything.
/// Fault::data when none does, or when several do.
ScaleBlock block_of(const TensorEntry& scales, const TensorEntry& elements,
                    std::span<const ScaleBlock> known);

/// Takes every FP8 entry `X` that has scales `X_scale_inv` or `X_scale`; both are multiplied with.
void take_fp8(SchemeInput& in, std::span<const ScaleBlock> known);
/// Takes every entry `X` of I8 with `X_scale`, and `X_zero_point` where there is one.
void take_int8(SchemeInput& in, std::span<const ScaleBlock> known);
/// E2M1 numbers, two in a byte, the low nibble first, as the tensor `name`. Scales are e4m3 for 16
/// (nvfp4) or powers of two for 32 (mxfp4).
ScaledParts fp4_parts(const std::string& name, const TensorEntry& codes, const TensorEntry& scales);

}  // namespace cupel::format
