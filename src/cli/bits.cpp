// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/bits.h"

#include <functional>
#include <numeric>

namespace cupel::cli {

namespace {

int64_t elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

bool plain(const std::string& stored_as) {
  return stored_as == "dense" || stored_as == "f32" || stored_as == "f16" || stored_as == "bf16" ||
         stored_as == "f64";
}

}  // namespace

ModelSize size_of(const format::Checkpoint& checkpoint) {
  ModelSize size;
  size.file_bytes = checkpoint.file_bytes();
  for (const format::WeightInfo& w : checkpoint.weights()) {
    const int64_t n = elements(w.shape);
    size.parameters += n;
    if (format::is_matrix(w.id.role) && !plain(w.stored_as)) {
      size.matrix_bytes += w.bytes;
      size.matrix_parameters += n;
    }
  }
  return size;
}

ModelSize dense_size(const format::ModelConfig& config, int bits) {
  ModelSize size;
  for (const auto& id : format::weight_ids(config))
    size.parameters += elements(config.shape_of(id.role));
  size.file_bytes = size.parameters * bits / 8;
  return size;
}

}  // namespace cupel::cli
