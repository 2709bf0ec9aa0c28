// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/params.h"
#include "base/registry.h"
#include "base/rng.h"
#include "core/model.h"

namespace cupel::core::train {

/// What a training step works on. `frozen` names the weights that may not change (quantized matrices).
struct TrainContext {
  Model& student;
  Model* teacher = nullptr;                    ///< the original, for distillation
  std::vector<int64_t> tokens;                 ///< training text, one stream
  std::set<std::string> frozen;
  Rng rng;
  std::string checkpoint;                      ///< path without extension for this step's checkpoints, "" for none
  int64_t checkpoint_every = 0;                ///< steps; 0 is never
  /// Called after each optimiser step: step (from 1), steps, loss, other metrics by name.
  std::function<void(int64_t, int64_t, double, const std::map<std::string, double>&)> on_step;
};

/// A method that changes weights by gradients: train.* and distill.*. Resumes from the context's checkpoint when there
/// is one, bit for bit as if it had not been interrupted.
class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual void run(TrainContext& context) const = 0;
  virtual bool needs_teacher() const = 0;
  virtual int64_t steps() const = 0;
};

/// Weights that train: every weight not frozen, requires_grad set, with its name.
std::vector<std::pair<std::string, at::Tensor>> trainable_weights(Model& model, const std::set<std::string>& frozen);

/// Checkpoint of a training step: weights, optimiser, counters; one HDF5 file, atomic.
void save_checkpoint(const std::string& path, const std::map<std::string, at::Tensor>& tensors);
std::map<std::string, at::Tensor> load_checkpoint(const std::string& path);

}  // namespace cupel::core::train
