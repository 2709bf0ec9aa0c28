// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/train/trainable.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "core/tensor_util.h"
#include "format/h5.h"

namespace cupel::core::train {
namespace {

// A checkpoint's groups.
const std::string kWeights = "weights/", kOptimizer = "optimizer/";

/// No weight keeps requires_grad when training ends, however it ends.
class GradientsOff {
 public:
  explicit GradientsOff(const NamedTensors& weights) : weights_(weights) {}
  ~GradientsOff() {
    for (const auto& [name, w] : weights_) {
      w.mutable_grad().reset();
      w.set_requires_grad(false);
    }
  }

 private:
  const NamedTensors& weights_;
};

void save(const std::string& path, const NamedTensors& weights, const AdamW& optimizer) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, w] : weights) tensors[kWeights + name] = w;
  for (const auto& [name, t] : optimizer.state()) tensors[kOptimizer + name] = t;
  save_checkpoint(path, tensors);
}

/// Returns the steps that are done.
int64_t resume(const std::string& path, const NamedTensors& weights, AdamW& optimizer) {
  const c10::NoGradGuard no_grad;
  const std::map<std::string, at::Tensor> tensors = load_checkpoint(path);
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, t] : tensors)
    if (name.starts_with(kOptimizer)) state[name.substr(kOptimizer.size())] = t;
  for (const auto& [name, w] : weights) {
    const auto found = tensors.find(kWeights + name);
    CUPEL_CHECK(found != tensors.end() && found->second.sizes() == w.sizes(), data,
                "the checkpoint has no '", name, "' of shape ", list_text(w.sizes()),
                "; it belongs to another training step");
    w.copy_(found->second);
  }
  optimizer.load_state(state);
  return state.at("steps").item<int64_t>();
}

}  // namespace

NamedTensors trainable_weights(Model& model, const std::set<std::string>& frozen) {
  NamedTensors out;
  for (const auto& [name, shared] : model.named_weights()) {
    shared.set_requires_grad(false);
    if (frozen.contains(name)) continue;
    const auto id = format::id_of_canonical(model.config().architecture(), name);
    CUPEL_ASSERT(id.has_value());
    model.set_weight(*id, shared.detach().clone());
    out.emplace_back(name, model.weight(*id).set_requires_grad(true));
  }
  CUPEL_CHECK(!out.empty(), user, "there is nothing to train: every weight is frozen");
  return out;
}

void train_loop(TrainContext& context, const NamedTensors& weights, const AdamWParams& adamw,
                int64_t steps, const TrainSteps& parts) {
  const GradientsOff off(weights);
  AdamW optimizer(adamw, weights);
  const std::string path = context.checkpoint + ".h5";
  int64_t step = 0, saved = 0;
  if (!context.checkpoint.empty() && std::filesystem::exists(path))
    step = saved =
        in_frame(cat("resuming from ", path), [&] { return resume(path, weights, optimizer); });
  while (step < steps) {
    StepResult result = parts.gradients(step);
    CUPEL_CHECK(std::isfinite(result.loss), data, "the loss is not finite at step ", step + 1,
                "; likely cause: a learning rate that is too high");
    const double lr = learning_rate(adamw, step, steps);
    result.metrics["lr"] = lr;
    result.metrics["gradient_norm"] = optimizer.step(lr);
    if (parts.after_update) parts.after_update(step);
    ++step;
    if (context.on_step) context.on_step(step, steps, result.loss, result.metrics);
    const bool due = step - saved >= context.checkpoint_every || step == steps;
    if (context.checkpoint.empty() || context.checkpoint_every == 0 || !due) continue;
    if (step < steps && parts.resumable && !parts.resumable(step)) continue;
    save(path, weights, optimizer);
    saved = step;
  }
}

double backward_through_head(Model& model, const at::Tensor& x_rh, int64_t piece_rows,
                             const std::function<at::Tensor(int64_t, const at::Tensor&)>& loss) {
  // A leaf of its own collects the gradient of all pieces, then the layers' graph is walked once.
  const at::Tensor leaf_rh = x_rh.detach().set_requires_grad(x_rh.requires_grad());
  double sum = 0;
  for (int64_t first = 0; first < x_rh.size(0); first += piece_rows) {
    const int64_t end = std::min(first + piece_rows, x_rh.size(0));
    const at::Tensor piece = loss(first, model.logits(leaf_rh.slice(0, first, end)));
    sum += piece.item<double>();
    if (piece.requires_grad()) piece.backward();
  }
  if (leaf_rh.grad().defined()) x_rh.backward(leaf_rh.grad());
  return sum;
}

void save_checkpoint(const std::string& path, const std::map<std::string, at::Tensor>& tensors) {
  write_atomic_with(path, [&](const std::string& temporary) {
    format::H5Writer writer(temporary, 0, 1);
    for (const auto& [name, t] : tensors) {
      // Half types are written as float32, which holds them exactly.
      const bool half = t.scalar_type() == at::kBFloat16 || t.scalar_type() == at::kHalf;
      const format::Array array = array_of(half ? t.to(at::kFloat) : t);
      writer.dataset("/" + name, array.type, array.shape, array.bytes);
    }
    writer.close();
  });
}

std::map<std::string, at::Tensor> load_checkpoint(const std::string& path) {
  const format::H5Reader reader(path);
  std::map<std::string, at::Tensor> out;
  for (const std::string& name : reader.names()) out[name.substr(1)] = tensor_of(reader.read(name));
  return out;
}

}  // namespace cupel::core::train
