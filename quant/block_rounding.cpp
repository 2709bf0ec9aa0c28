// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Axes: o outputs, i inputs, g groups of inputs, d inputs of a group.
#include "quant/block_rounding.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"
#include "core/tensor_util.h"

namespace cupel::quant {
namespace {

constexpr int kChecks = 8;  // times that the loss over all samples is looked at

using Weights = std::vector<at::Tensor>;

at::Tensor error_of(const core::BlockHandle& block, int64_t sample, const Weights& weights) {
  const at::Tensor error = block.forward(sample, weights) - block.target(sample);
  return error.to(at::kFloat).square().mean();
}

double loss_of(const core::BlockHandle& block, const Weights& weights) {
  double sum = 0;
  for (int64_t s = 0; s < block.samples(); ++s) sum += error_of(block, s, weights).item<double>();
  return sum / static_cast<double>(block.samples());
}

/// What a code puts in the place of a matrix.
at::Tensor decoded(const format::WeightCode& code, at::Device device) {
  return core::decoded_weight(code).to(device);
}

/// One matrix on its way.
class Learner {
 public:
  Learner(BlockMatrix& matrix, const RoundingSchedule& schedule)
      : matrix_(matrix),
        layout_(std::dynamic_pointer_cast<const format::UniformLayout>(matrix.code.layout)),
        start_(grid_tensors(matrix.code, *layout_, matrix.w_oi.device())),
        grid_(padded(matrix.w_oi, start_), start_, schedule) {}

  /// Of the last rounding.
  format::WeightCode code() const {
    format::WeightCode out = matrix_.code;
    store(grid_.tensors(), out);
    return out;
  }
  /// The weight that the next codes stand for.
  at::Tensor round() {
    const at::Tensor value_gdo = grid_.round();
    if (!matrix_.code.input.identity()) return decoded(code(), matrix_.w_oi.device());
    const at::Tensor value_io = value_gdo.reshape({-1, matrix_.code.rows});
    return value_io.slice(0, 0, matrix_.code.cols).t().contiguous();
  }
  /// W = W' T: dL/dW' = dL/dW T^T, which is T applied to the rows of dL/dW.
  void descend(const at::Tensor& gradient_oi, double rate) {
    if (!gradient_oi.defined()) return;  // no token of the batch reached it
    at::Tensor g = gradient_oi.to(at::kFloat);
    if (!matrix_.code.input.identity()) {
      g = core::host_float(g).clone();
      format::apply(matrix_.code.input, g.mutable_data_ptr<float>(), g.size(0), g.size(1));
    }
    grid_.descend(padded(g.to(matrix_.w_oi.device()), start_), rate);
  }

 private:
  BlockMatrix& matrix_;
  std::shared_ptr<const format::UniformLayout> layout_;
  GridTensors start_;
  LearnedGrid grid_;
};

/// One step's gradients, added up in the weights.
void add_gradients(const core::BlockHandle& block, int batch, Rng& rng, const Weights& leaves) {
  const c10::AutoGradMode with_gradients(true);
  for (int k = 0; k < batch; ++k) {
    const auto sample = static_cast<int64_t>(rng.below(static_cast<uint64_t>(block.samples())));
    error_of(block, sample, leaves).backward();
  }
}

}  // namespace

BlockLoss learn_block(const core::BlockHandle& block, const RoundingSchedule& schedule, int batch,
                      Rng rng, std::vector<BlockMatrix>& matrices) {
  const c10::NoGradGuard no_grad;
  CUPEL_ASSERT(!matrices.empty() && block.samples() > 0);
  const at::Device device = matrices.front().w_oi.device();
  std::vector<Learner> learners;
  Weights plain, other;
  std::vector<format::WeightCode> best;
  for (BlockMatrix& m : matrices) {
    learners.emplace_back(m, schedule);
    plain.push_back(decoded(m.code, device));
    other.push_back(decoded(m.other, device));
    best.push_back(m.code);
  }
  BlockLoss loss{.plain = loss_of(block, plain), .other = loss_of(block, other)};
  loss.chosen = std::min(loss.plain, loss.other);
  if (loss.other < loss.plain)
    for (std::size_t m = 0; m < best.size(); ++m) best[m] = matrices[m].other;
  const int check = std::max(1, schedule.steps / kChecks);
  for (int t = 0; t <= schedule.steps; ++t) {
    Weights leaves;
    for (Learner& learner : learners) leaves.push_back(learner.round());
    if (t > 0 && (t % check == 0 || t == schedule.steps)) {
      const double now = loss_of(block, leaves);
      if (now < loss.chosen) {
        loss.chosen = now;
        for (std::size_t m = 0; m < best.size(); ++m) best[m] = learners[m].code();
      }
    }
    if (t == schedule.steps) break;
    for (at::Tensor& leaf : leaves) leaf.requires_grad_(true);
    add_gradients(block, batch, rng, leaves);
    for (std::size_t m = 0; m < learners.size(); ++m)
      learners[m].descend(leaves[m].grad(), schedule.rate_at(t));
  }
  for (std::size_t m = 0; m < best.size(); ++m) matrices[m].code = std::move(best[m]);
  return loss;
}

}  // namespace cupel::quant
