// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pipeline/block_handle.h"

#include <c10/core/GradMode.h>

#include "base/error.h"

namespace cupel::core {
namespace {

/// Puts a layer's weights back, whatever happens.
class Restored {
 public:
  explicit Restored(LayerWeights& layer) : layer_(layer), original_(layer) {}
  ~Restored() { layer_ = original_; }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  LayerWeights& layer_;
  LayerWeights original_;
};

}  // namespace

BlockHandle::BlockHandle(Model& model, int layer, const std::vector<at::Tensor>& samples,
                         std::vector<BlockPart> parts, const Needs& needs)
    : model_(model), layer_(layer), samples_(samples), ids_(std::move(parts)) {
  const c10::NoGradGuard no_grad;
  for (const BlockPart& ids : ids_) {
    Part& part = parts_.emplace_back();
    for (const format::WeightId& id : ids.weights) {
      part.group.names.push_back(canonical_name(model.config().architecture(), id));
      part.group.weights_oi.push_back(model.weight(id).to(at::kFloat).contiguous());
    }
    part.group.id = group_id(model.config().architecture(), ids.weights.front());
  }
  const Tap tap = [&](const format::WeightId& first, const at::Tensor& x) {
    for (std::size_t p = 0; p < ids_.size(); ++p)
      if (ids_[p].first == first) parts_[p].stats.add(needs, x);
    return true;
  };
  for (const at::Tensor& x : samples_) targets_.push_back(model_.block(layer, x, tap));
}

at::Tensor BlockHandle::forward(int64_t sample, const std::vector<at::Tensor>& weights_oi) const {
  LayerWeights& layer = model_.layer(layer_);
  const Restored restored(layer);
  std::size_t next = 0;
  for (const BlockPart& part : ids_)
    for (const format::WeightId& id : part.weights) {
      CUPEL_ASSERT(next < weights_oi.size());
      layer.of(id.role, id.expert) = weights_oi[next++].to(model_.options().compute);
    }
  CUPEL_ASSERT(next == weights_oi.size());
  return model_.block(layer_, input(sample));
}

}  // namespace cupel::core
