// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// On-policy distillation.
// Idea: the student writes, and at every state that it reaches the teacher's whole distribution is
// the target. Formula: (1 / N) sum over generated positions of D(q, p), N over the whole batch; D
// is reverse KL, forward KL or JS. Source: Agarwal et al., "On-policy distillation of language
// models" (GKD); Gu et al., "MiniLLM" (reverse KL). Cost: per step one rollout, one teacher
// forward, one student forward and backward; logits of kHeadRows at a time. Ours differs: the full
// vocabulary instead of the sampled token; no gradient flows through sampling.
#include "distill/opd.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace cupel::distill {

using core::train::StepResult;
using core::train::TrainContext;

namespace {

// Positions whose logits exist at once, of student and teacher.
constexpr int64_t kHeadRows = 2048;

at::Tensor hidden_rows(core::Model& model, const at::Tensor& ids_nt, const at::Tensor& rows) {
  at::Tensor x_nth = model.embed(ids_nt);
  for (int i = 0; i < model.layers(); ++i) x_nth = model.block(i, x_nth);
  return x_nth.reshape({-1, x_nth.size(-1)}).index_select(0, rows.to(x_nth.device()));
}

Rollout part_of(const Rollout& rollout, int64_t begin, int64_t end) {
  const auto cut = [&](const std::vector<int64_t>& v) {
    return std::vector(v.begin() + begin, v.begin() + end);
  };
  return {rollout.ids_nt.slice(0, begin, end), cut(rollout.prompt), cut(rollout.length),
          cut(rollout.domain)};
}

/// Weight of each position, [n, t]: the product of all weightings, times that of the sequence's
/// domain.
at::Tensor weights_of(const Objective& objective, const Rollout& rollout) {
  at::Tensor w_nt;
  for (const TokenWeighting* weighting : objective.tokens) {
    const at::Tensor factor_nt = weighting->weights_nt(rollout);
    w_nt = w_nt.defined() ? w_nt * factor_nt : factor_nt.clone();
  }
  CUPEL_ASSERT(w_nt.defined());
  for (int64_t n = 0; n < rollout.sequences(); ++n)
    w_nt[n].mul_(objective.domains.weight(rollout.domain[static_cast<std::size_t>(n)]));
  return w_nt;
}

/// Columns that both models have; the rest is padding of one of the two.
int64_t common_vocab(const at::Tensor& a_rv, const at::Tensor& b_rv) {
  return std::min(a_rv.size(1), b_rv.size(1));
}

/// Norms are vectors; everything else is a matrix.
std::set<std::string> all_but_norms(core::Model& model) {
  std::set<std::string> out;
  for (const auto& [name, w] : model.named_weights())
    if (w.dim() >= 2) out.insert(name);
  return out;
}

}  // namespace

void ModelTeacher::observe(const Rollout& rollout, const at::Tensor& rows) {
  const c10::NoGradGuard no_grad;
  x_rh_ = hidden_rows(model_, rollout.ids_nt, rows);
}

at::Tensor ModelTeacher::logits_rv(int64_t first, int64_t count) {
  const c10::NoGradGuard no_grad;
  return model_.logits(x_rh_.slice(0, first, first + count));
}

StepResult distill_gradients(const Objective& objective, core::Model& student,
                             const Rollout& rollout, int64_t micro_batch) {
  const at::Tensor w_nt = weights_of(objective, rollout);
  const double denominator = w_nt.sum(at::kDouble).item<double>();
  CUPEL_CHECK(denominator > 0, data, "no position of the rollout counts");
  StepResult result;
  for (int64_t n = 0; n < rollout.sequences(); n += micro_batch) {
    const Rollout part = part_of(rollout, n, std::min(n + micro_batch, rollout.sequences()));
    const at::Tensor w_flat = w_nt.slice(0, n, n + part.sequences()).reshape({-1});
    const at::Tensor rows = w_flat.nonzero().squeeze(1);
    if (rows.numel() == 0) continue;
    const at::Tensor w_r = w_flat.index_select(0, rows).to(student.options().device) / denominator;
    objective.teacher.observe(part, rows);
    result.loss += core::train::backward_through_head(
        student, hidden_rows(student, part.ids_nt, rows), kHeadRows,
        [&](int64_t first, const at::Tensor& student_rv) {
          const int64_t count = student_rv.size(0);
          const at::Tensor teacher_rv =
              objective.teacher.logits_rv(first, count).to(student_rv.device());
          const int64_t vocab = common_vocab(student_rv, teacher_rv);
          const at::Tensor d_r =
              objective.divergence(student_rv.slice(1, 0, vocab), teacher_rv.slice(1, 0, vocab));
          return (d_r * w_r.slice(0, first, first + count)).sum();
        });
  }
  result.metrics["positions"] = static_cast<double>(w_nt.count_nonzero().item<int64_t>());
  return result;
}

OpdParams::OpdParams() : divergence(divergence_alternatives(), "reverse-kl") {
  adamw.lr = 1e-5;
  adamw.weight_decay = 0;
}

void OpdParams::visit(ParamVisitor& v) {
  v.field("steps", steps, "optimiser steps").in(1, 1e9);
  v.field("batch", batch, "sequences of one step").in(1, 1e6);
  v.field("micro_batch", micro_batch, "sequences trained at once; 0 is all of the batch")
      .in(0, 1e6);
  v.field("rollout", rollout, "the sequences to learn from");
  v.field("divergence", divergence, "distance between student and teacher");
  v.field("train", train, {{"full", 0}, {"norms", 1}},
          "what learns: every weight that is not frozen, or norms alone");
  v.field("adamw", adamw, "the optimiser");
}

void Opd::run(TrainContext& context) const {
  CUPEL_ASSERT(context.teacher != nullptr);
  std::set<std::string> frozen = context.frozen;
  if (params_.train == TrainedPart::norms) frozen.merge(all_but_norms(context.student));
  const auto weights = core::train::trainable_weights(context.student, frozen);

  const auto source = make_rollout_source(context.tokens, params_.rollout, params_.batch);
  ModelTeacher teacher(*context.teacher);
  const auto divergence = make_divergence(params_.divergence);
  const GeneratedTokens generated;
  const std::vector<const TokenWeighting*> tokens{&generated};
  const EqualDomains domains;
  const FixedTeacher schedule(params_.rollout.updates);
  const Objective objective{*source, teacher, *divergence, tokens, domains};
  const int64_t micro = params_.micro_batch ? params_.micro_batch : params_.batch;

  std::optional<Rollout> rollout;
  core::train::TrainSteps parts;
  parts.gradients = [&](int64_t step) {
    if (schedule.refresh(step)) rollout = objective.source.roll(context.student, step, context.rng);
    CUPEL_ASSERT(rollout.has_value());
    return distill_gradients(objective, context.student, *rollout, micro);
  };
  parts.after_update = [&](int64_t step) {
    schedule.evolve(step, context.student, *context.teacher);
  };
  parts.resumable = [&](int64_t step) { return schedule.refresh(step); };
  core::train::train_loop(context, weights, params_.adamw, params_.steps, parts);
}

}  // namespace cupel::distill
