// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Training on text.
// Idea: predict the next token of random windows of one token stream.
// Formula: mean over the windows' tokens of -log q(next token).
// Source: the usual language model objective.
// Cost: one forward and backward pass per micro-batch; logits of kHeadRows positions at a time.
// Ours differs: windows depend on (seed, step, sequence) alone, so a resumed run needs no state of
// the data.
#include "distill/train_lm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>

#include <algorithm>

#include "distill/rollout.h"

namespace cupel::distill {

using core::train::StepResult;
using core::train::TrainContext;

namespace {

// Positions whose logits exist at once: with a vocabulary of 49152 they and their gradient take 1.6
// GB in float32.
constexpr int64_t kHeadRows = 4096;

/// Adds the gradients of one micro-batch [n, t + 1]; returns its share of the mean over `tokens`.
double accumulate(core::Model& model, const at::Tensor& ids_nt, double tokens) {
  at::Tensor x_nth = model.embed(ids_nt.slice(1, 0, -1));
  for (int i = 0; i < model.layers(); ++i) x_nth = model.block(i, x_nth);
  const at::Tensor next_r = ids_nt.slice(1, 1).reshape({-1}).to(x_nth.device());
  return core::train::backward_through_head(
      model, x_nth.reshape({-1, x_nth.size(-1)}), kHeadRows,
      [&](int64_t first, const at::Tensor& logits_rv) {
        const at::Tensor target_r = next_r.slice(0, first, first + logits_rv.size(0));
        const bool wide = logits_rv.scalar_type() == at::kDouble;
        return at::cross_entropy_loss(wide ? logits_rv : logits_rv.to(at::kFloat), target_r, {},
                                      at::Reduction::Sum) /
               tokens;
      });
}

}  // namespace

void TrainLmParams::visit(ParamVisitor& v) {
  v.field("steps", steps, "optimiser steps").in(1, 1e9);
  v.field("batch", batch, "sequences of one step").in(1, 1e6);
  v.field("length", length, "tokens predicted in each sequence").in(1, 1e6);
  v.field("micro_batch", micro_batch, "sequences in memory at once; 0 is all of the batch")
      .in(0, 1e6);
  v.field("adamw", adamw, "the optimiser");
}

void TrainLm::run(TrainContext& context) const {
  const auto weights = core::train::trainable_weights(context.student, context.frozen);
  core::train::train_loop(context, weights, params_.adamw, params_.steps,
                          {.gradients = [&](int64_t step) { return gradients(context, step); }});
}

StepResult TrainLm::gradients(TrainContext& context, int64_t step) const {
  const at::Tensor ids_nt =
      random_windows(context.tokens, params_.batch, params_.length + 1, step, context.rng);
  const int64_t micro =
      params_.micro_batch ? std::min(params_.micro_batch, params_.batch) : params_.batch;
  const double tokens = static_cast<double>(params_.batch * params_.length);
  StepResult result;
  for (int64_t n = 0; n < params_.batch; n += micro)
    result.loss +=
        accumulate(context.student, ids_nt.slice(0, n, std::min(n + micro, params_.batch)), tokens);
  result.metrics["tokens"] = tokens;
  return result;
}

}  // namespace cupel::distill
