// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/artifact.h"
#include "kernels/cpu.h"

namespace cupel::kernels {

/// The instruction sets that this processor has, scalar first.
std::vector<Isa> available_isas();

/// n numbers of a normal distribution.
std::vector<float> normals(int64_t n, const std::string& stream, double deviation = 1.0);

/// What to make a packed uniform matrix of; group 0 is the whole row.
struct UniformSpec {
  int bits = 4;
  bool symmetric = false;
  int group = 64;
  int64_t rows = 37, cols = 100;
  std::string name() const;
};

/// A tensor with the planes that it views.
struct PackedTensor {
  format::ArtifactTensor tensor;
  format::Planes planes;
  std::vector<float> unpacked() const;
};

enum class Fill { random, largest };  ///< largest: every code is 2^bits - 1

PackedTensor pack_uniform(const UniformSpec& spec, Fill fill = Fill::random);
/// Random arrays of any layout; `params` as JSON.
PackedTensor pack_random(const std::string& layout, const std::string& params, int64_t rows,
                         int64_t cols);
PackedTensor pack_dense(format::ElementType type, int64_t rows, int64_t cols);
/// The kernel's view of a tensor that pack_uniform() made.
CodedMatrix uniform_matrix(const PackedTensor& packed);

/// The form of activations that a test asks for.
struct BlockForm {
  int block = 32;
  bool two_pass = true;
};
/// Every form that suits a matrix: one pass in blocks of 32, two passes in blocks as
/// prepare_linear() chooses them.
std::vector<BlockForm> block_forms(const UniformSpec& spec);

/// Buffers of a QuantizedInput, filled by a kernel.
struct QuantizedRows {
  std::vector<int8_t> first, second;
  std::vector<float> scales;
  std::vector<int32_t> sums;
  QuantizedInput view;

  QuantizedRows(int64_t m, int64_t k, BlockForm form);
  QuantizedRows(const std::vector<float>& x, int64_t m, int64_t k, BlockForm form,
                Isa isa = Isa::scalar);
  QuantizedRows(const QuantizedRows&) = delete;
  /// The number that input i of row r stands for.
  double value(int64_t r, int64_t i) const;
  /// Row r alone.
  QuantizedInput row(int64_t r) const;
};

}  // namespace cupel::kernels
