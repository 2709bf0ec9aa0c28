// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "export/hf_tensors.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/error.h"
#include "format/architecture.h"

namespace cupel::export_ {
namespace {

using format::FusedPattern;
using format::WeightId;

/// A tensor that holds the `pattern`'s weights of one layer.
struct FusedTensor {
  format::ModelConfig config;
  FusedPattern pattern;
  int layer;

  int experts() const { return pattern.of_experts ? static_cast<int>(config.experts.count) : 1; }
  /// Of one slab, as [output, input].
  int64_t rows() const { return stored()[pattern.of_experts ? 1 : 0]; }
  /// Columns of a matrix, 1 for a vector.
  int64_t cols() const {
    const auto shape = config.shape_of(pattern.parts.front());
    return shape.size() > 1 ? shape[1] : 1;
  }
  std::vector<int64_t> shape() const {
    std::vector<int64_t> out = stored();
    if (pattern.transposed) std::swap(*out.rbegin(), *(out.rbegin() + 1));
    return out;
  }
  WeightId id(std::size_t part, int expert) const {
    return {pattern.parts[part], layer, pattern.of_experts ? expert : -1};
  }

  void fill(const WeightReader& read, std::span<float> out) const {
    const auto slab = static_cast<std::size_t>(rows() * cols());
    for (int e = 0; e < experts(); ++e)
      fill_slab(read, e, out.subspan(static_cast<std::size_t>(e) * slab, slab));
  }

 private:
  std::vector<int64_t> stored() const { return format::fused_shape(config, pattern); }
  void fill_slab(const WeightReader& read, int expert, std::span<float> slab) const {
    const int64_t total = rows(), width = cols();
    const auto parts = static_cast<int64_t>(pattern.parts.size());
    int64_t before = 0;
    for (int64_t part = 0; part < parts; ++part) {
      const WeightId weight = id(static_cast<std::size_t>(part), expert);
      const int64_t count = config.shape_of(weight.role)[0];
      std::vector<float> values(static_cast<std::size_t>(count * width));
      read(weight, values);
      for (int64_t r = 0; r < count; ++r) {
        const int64_t row = pattern.interleaved ? r * parts + part : before + r;
        for (int64_t c = 0; c < width; ++c)
          slab[static_cast<std::size_t>(pattern.transposed ? c * total + row : row * width + c)] =
              values[static_cast<std::size_t>(r * width + c)];
      }
      before += count;
    }
  }
};

}  // namespace

std::vector<OutputTensor> hf_tensors(const format::ModelConfig& config, const TypeChooser& type,
                                     const WeightReader& read) {
  const format::Architecture& arch = config.architecture();
  const auto ids = format::weight_ids(config);
  const std::set<WeightId> all(ids.begin(), ids.end());
  std::set<WeightId> fused;
  std::vector<OutputTensor> out;
  const auto add_fused = [&](const FusedPattern& pattern, int layer) {
    const FusedTensor tensor{config, pattern, layer};
    if (!pattern.written || !all.contains(tensor.id(0, 0))) return;
    for (int e = 0; e < tensor.experts(); ++e)
      for (std::size_t part = 0; part < pattern.parts.size(); ++part)
        fused.insert(tensor.id(part, e));
    out.push_back({format::fill_pattern(pattern.stored, layer, -1),
                   tensor.shape(),
                   type(tensor.id(0, 0)),
                   [tensor, read](std::span<float> values) { tensor.fill(read, values); },
                   {}});
  };
  for (int layer = 0; layer < config.layers; ++layer)
    for (const FusedPattern& pattern : arch.fused) add_fused(pattern, layer);
  for (const WeightId& id : ids)
    if (!fused.contains(id))
      out.push_back({format::canonical_name(arch, id),
                     config.shape_of(id.role),
                     type(id),
                     [id, read](std::span<float> values) { read(id, values); },
                     {}});
  return out;
}

std::vector<OutputTensor> passed_tensors(const format::Checkpoint& checkpoint) {
  std::vector<OutputTensor> out;
  for (const format::TensorEntry* t : checkpoint.passed_through())
    out.push_back({t->name, t->shape, t->type, {}, t->bytes});
  return out;
}

}  // namespace cupel::export_
