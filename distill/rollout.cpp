// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "distill/rollout.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "base/error.h"
#include "core/sampling.h"
#include "distill/weighting.h"

namespace cupel::distill {
namespace {

Rollout equal_lengths(at::Tensor ids_nt, int64_t prompt) {
  const auto n = static_cast<std::size_t>(ids_nt.size(0));
  const int64_t length = ids_nt.size(1);
  return {std::move(ids_nt), std::vector<int64_t>(n, prompt), std::vector<int64_t>(n, length),
          std::vector<int64_t>(n, 0)};
}

}  // namespace

void RolloutParams::visit(ParamVisitor& v) {
  v.field("writer", writer, {{"student", 0}, {"text", 1}},
          "who continues the prompts: the student (on-policy) or the training text itself");
  v.field("prompt", prompt, "tokens of the training text that start a sequence").in(1, 1e6);
  v.field("tokens", tokens, "tokens that follow").in(1, 1e6);
  v.field("temperature", temperature, "of the student's sampling; 0 is argmax").in(0, 10);
  v.field("updates", updates, "optimiser steps on the same sequences").in(1, 1000);
}

at::Tensor random_windows(const std::vector<int64_t>& text, int64_t batch, int64_t length,
                          int64_t step, const Rng& rng) {
  const auto tokens = static_cast<int64_t>(text.size());
  CUPEL_CHECK(tokens >= length, user, "the training text has ", tokens,
              " tokens, but one window takes ", length, "; give more text or shorter windows");
  at::Tensor ids_nt = at::empty({batch, length}, at::kLong);
  for (int64_t n = 0; n < batch; ++n) {
    Rng place =
        rng.child("window").child(static_cast<uint64_t>(step)).child(static_cast<uint64_t>(n));
    const auto start =
        static_cast<int64_t>(place.below(static_cast<uint64_t>(tokens - length + 1)));
    std::copy_n(text.begin() + start, length, ids_nt.data_ptr<int64_t>() + n * length);
  }
  return ids_nt;
}

Rollout StudentRollout::roll(core::Model& student, int64_t step, const Rng& rng) const {
  const at::Tensor prompts_nt = random_windows(text_, batch_, params_.prompt, step, rng);
  const Rng draws = rng.child("sample").child(static_cast<uint64_t>(step));
  return equal_lengths(
      core::sample(student, prompts_nt, params_.tokens, params_.temperature, draws),
      params_.prompt);
}

Rollout TextRollout::roll(core::Model& student, int64_t step, const Rng& rng) const {
  const at::Tensor ids_nt =
      random_windows(text_, batch_, params_.prompt + params_.tokens, step, rng);
  return equal_lengths(ids_nt.to(student.options().device), params_.prompt);
}

std::unique_ptr<RolloutSource> make_rollout_source(const std::vector<int64_t>& text,
                                                   const RolloutParams& params, int64_t batch) {
  if (params.writer == RolloutWriter::text)
    return std::make_unique<TextRollout>(text, params, batch);
  return std::make_unique<StudentRollout>(text, params, batch);
}

at::Tensor GeneratedTokens::weights_nt(const Rollout& rollout) const {
  at::Tensor w_nt = at::zeros(rollout.ids_nt.sizes(), at::kFloat);
  for (int64_t n = 0; n < rollout.sequences(); ++n) {
    const auto r = static_cast<std::size_t>(n);
    w_nt[n].slice(0, rollout.prompt[r] - 1, rollout.length[r] - 1).fill_(1);
  }
  return w_nt;
}

}  // namespace cupel::distill
