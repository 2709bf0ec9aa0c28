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
#include "core/train/optimizer.h"

namespace cupel::core::train {

/// What a training step works on. `frozen` names the weights that may not change (quantized
/// matrices).
struct TrainContext {
  Model& student;
  Model* teacher = nullptr;     ///< the original, for distillation
  std::vector<int64_t> tokens;  ///< training text, one stream
  std::set<std::string> frozen;
  Rng rng;
  std::string checkpoint;  ///< path without extension for this step's checkpoints, "" for none
  int64_t checkpoint_every = 0;  ///< steps; 0 is never
  /// Called after each optimiser step: step (from 1), steps, loss, other metrics by name.
  std::function<void(int64_t, int64_t, double, const std::map<std::string, double>&)> on_step;
};

/// A method that changes weights by gradients: train.* and distill.*. Resumes from the context's
/// checkpoint when there is one, bit for bit as if it had not been interrupted.
class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual void run(TrainContext& context) const = 0;
  virtual bool needs_teacher() const = 0;
  virtual int64_t steps() const = 0;
};

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Weights that train: every weight not frozen, requires_grad set, with its name. They become
/// tensors of this model alone, so that copies of the model do not train along.
NamedTensors trainable_weights(Model& model, const std::set<std::string>& frozen);

/// What one step found; its gradients lie in the weights.
struct StepResult {
  double loss = 0;
  std::map<std::string, double> metrics;
};

/// The parts of a training loop. Steps count from 0. `gradients` may depend on the step's number
/// and the weights alone: that is what makes a resumed run equal to an uninterrupted one. The
/// others may be empty.
struct TrainSteps {
  std::function<StepResult(int64_t step)> gradients;
  std::function<void(int64_t step)> after_update;
  /// False if a run can't resume before `step` (it would need what an earlier step made); no
  /// checkpoint is taken there.
  std::function<bool(int64_t step)> resumable;
};

/// The loop of every training method: resume, gradients, update, report, checkpoint. Checkpoints
/// lie at context.checkpoint + ".h5", every checkpoint_every steps and at the end. Afterwards no
/// weight requires a gradient.
void train_loop(TrainContext& context, const NamedTensors& weights, const AdamWParams& adamw,
                int64_t steps, const TrainSteps& parts);

/// Loss and backward pass through final norm and head in pieces of `piece_rows` rows, so that the
/// logits of one piece exist at a time: x [r, h] carries the graph of the layers; `loss(first,
/// logits [rows, v])` gives a piece's share of the loss. Returns their sum.
double backward_through_head(
    Model& model, const at::Tensor& x_rh, int64_t piece_rows,
    const std::function<at::Tensor(int64_t first, const at::Tensor& logits_rv)>& loss);

/// Checkpoint of a training step: weights, optimiser, counters; one HDF5 file, atomic.
void save_checkpoint(const std::string& path, const std::map<std::string, at::Tensor>& tensors);
std::map<std::string, at::Tensor> load_checkpoint(const std::string& path);

}  // namespace cupel::core::train
