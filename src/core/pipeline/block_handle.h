// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <vector>

#include "core/model.h"
#include "core/quantizer.h"

namespace cupel::core {

/// The matrices of one input group that a step takes, and the first matrix of the group.
struct BlockPart {
  format::WeightId first;
  std::vector<format::WeightId> weights;
};

/// A decoder block for methods that optimise all of its matrices together: what enters it in the
/// model as quantized so far, what left it before this step, and its forward pass with other
/// weights. Not thread-safe; the model and the samples must outlive it.
class BlockHandle {
 public:
  struct Part {
    MatrixGroup group;
    Stats stats;  ///< what the step needs to know of the group's input
  };

  /// Runs the block once over the samples [1, t, h].
  BlockHandle(Model& model, int layer, const std::vector<at::Tensor>& samples,
              std::vector<BlockPart> parts, const Needs& needs);

  const std::vector<Part>& parts() const { return parts_; }
  int64_t samples() const { return static_cast<int64_t>(samples_.size()); }
  const at::Tensor& input(int64_t sample) const {
    return samples_[static_cast<std::size_t>(sample)];
  }
  const at::Tensor& target(int64_t sample) const {
    return targets_[static_cast<std::size_t>(sample)];
  }
  /// Output [1, t, h] for a sample with these weights [o, i] in place of the matrices of the parts,
  /// one each, in order; differentiable in them where gradients are on. The model is as before
  /// afterwards.
  at::Tensor forward(int64_t sample, const std::vector<at::Tensor>& weights_oi) const;

 private:
  Model& model_;
  int layer_;
  const std::vector<at::Tensor>& samples_;
  std::vector<at::Tensor> targets_;
  std::vector<BlockPart> ids_;
  std::vector<Part> parts_;
};

}  // namespace cupel::core
