// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "base/params.h"

namespace cupel::distill {

/// Distance between the student's and the teacher's next-token distribution, q and p, per state. 0
/// with a zero gradient exactly when they are equal. Differentiable in the student's logits.
class Divergence {
 public:
  virtual ~Divergence() = default;
  /// Logits [r, v] of equal width to [r]; half types are computed in float32.
  virtual at::Tensor operator()(const at::Tensor& student_rv,
                                const at::Tensor& teacher_rv) const = 0;
};

/// forward-kl, reverse-kl, js: what a recipe's `divergence` may name.
const std::vector<Alternative>& divergence_alternatives();
std::unique_ptr<Divergence> make_divergence(const Choice& choice);

struct NoParams : Params {
  void visit(ParamVisitor&) override {}
};

struct JsParams : Params {
  double beta = 0.5;
  bool normalise = true;
  void visit(ParamVisitor& v) override;
};

/// KL(p || q) = sum p (log p - log q): the student covers all that the teacher does.
class ForwardKl : public Divergence {
 public:
  at::Tensor operator()(const at::Tensor& student_rv, const at::Tensor& teacher_rv) const override;
};

/// KL(q || p) = sum q (log q - log p): the student avoids what the teacher avoids.
class ReverseKl : public Divergence {
 public:
  at::Tensor operator()(const at::Tensor& student_rv, const at::Tensor& teacher_rv) const override;
};

/// beta KL(p || m) + (1 - beta) KL(q || m) with m = beta p + (1 - beta) q, 0 < beta < 1.
/// Normalised: divided by beta (1 - beta), which goes to forward KL at 0 and to reverse KL at 1;
/// plain, it vanishes at both ends.
class JensenShannon : public Divergence {
 public:
  explicit JensenShannon(const JsParams& params) : params_(params) {}
  at::Tensor operator()(const at::Tensor& student_rv, const at::Tensor& teacher_rv) const override;

 private:
  JsParams params_;
};

}  // namespace cupel::distill
