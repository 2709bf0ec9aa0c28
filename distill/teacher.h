// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "distill/rollout.h"

namespace cupel::distill {

/// What the teacher says about the states of a rollout, in two steps so that its logits never exist
/// all at once.
class TeacherSignal {
 public:
  virtual ~TeacherSignal() = default;
  /// Looks at a micro-batch; `rows` are the positions that count, as indices into its flattened [n
  /// * t].
  virtual void observe(const Rollout& rollout, const at::Tensor& rows) = 0;
  /// Logits of counted rows [first, first + count), [r, v], without gradient.
  virtual at::Tensor logits_rv(int64_t first, int64_t count) = 0;
};

/// The teacher model's full distribution. Keeps its last hidden states (70 times smaller than
/// logits), not the logits.
class ModelTeacher : public TeacherSignal {
 public:
  explicit ModelTeacher(core::Model& model) : model_(model) {}
  void observe(const Rollout& rollout, const at::Tensor& rows) override;
  at::Tensor logits_rv(int64_t first, int64_t count) override;

 private:
  core::Model& model_;
  at::Tensor x_rh_;
};

}  // namespace cupel::distill
