// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/container.h"

/// Tensors of Hugging Face folders as numbers, whatever scheme stores them. Internal to this
/// module.
namespace cupel::format {

/// One tensor under the name that a plain float file would give it. It may be made of several
/// entries of the file (codes, scales, zero points). Keeps pointers into the container.
class StoredTensor {
 public:
  StoredTensor(std::string the_name, std::vector<int64_t> the_shape, std::string how,
               std::vector<const TensorEntry*> made_of)
      : name(std::move(the_name)),
        shape(std::move(the_shape)),
        stored_as(std::move(how)),
        entries(std::move(made_of)) {}
  virtual ~StoredTensor() = default;
  StoredTensor(const StoredTensor&) = delete;
  StoredTensor& operator=(const StoredTensor&) = delete;

  const std::string name;                         ///< "model.layers.0.mlp.up_proj.weight"
  const std::vector<int64_t> shape;               ///< of the numbers, outermost first
  const std::string stored_as;                    ///< "bf16", "fp8 in blocks of 128 x 128"
  const std::vector<const TensorEntry*> entries;  ///< what it is made of

  /// The numbers of slab `slab` of the first axis of a tensor of three axes (slab 0 otherwise: all
  /// of them), row-major float32.
  virtual void read(int64_t slab, std::span<float> out) const = 0;
  /// True if matrices are [output, input] here even where a family's plain files are transposed.
  virtual bool output_major() const { return false; }
  int64_t slabs() const { return shape.size() == 3 ? shape[0] : 1; }
  int64_t slab_elements() const;
  int64_t bytes() const;
  /// Of the bytes of all entries.
  uint32_t checksum() const;
};

/// All tensors of a file. `quantization` is config.json's quantization_config as text ("" when
/// there is none). Fault::data names an unknown scheme, a tensor whose scales are missing, and
/// entries of a scheme that do not fit together. `notes` receives the scheme's name.
std::vector<std::unique_ptr<StoredTensor>> stored_tensors(const Container& container,
                                                          const std::string& quantization,
                                                          std::vector<std::string>& notes);

}  // namespace cupel::format
