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

std::vector<format::WeightId> weights_of(const format::ModelConfig& config) {
  std::vector<format::WeightId> out;
  for (int layer = -1; layer < config.layers; ++layer) {
    for (const auto& name : config.architecture().names) {
      const bool in_layer = std::string_view(name.canonical).find("{}") != std::string_view::npos;
      if (in_layer != (layer >= 0)) continue;
      if (name.role == format::Role::head && config.tied_head) continue;
      out.push_back({name.role, layer});
    }
  }
  return out;
}

ModelSize dense_size(const format::ModelConfig& config, int bits) {
  ModelSize size;
  for (const auto& id : weights_of(config)) size.parameters += elements(config.shape_of(id.role));
  size.file_bytes = size.parameters * bits / 8;
  return size;
}

}  // namespace cupel::cli
