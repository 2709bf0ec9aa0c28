// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "distill/divergence.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logaddexp.h>

#include <cmath>

#include "base/error.h"

namespace cupel::distill {
namespace {

// Stands for a logit of minus infinity (a forbidden token): its probability is 0 all the same, and
// 0 * log 0 and its gradient stay 0 instead of NaN.
constexpr double kForbidden = -1e9;

at::Tensor log_probabilities(const at::Tensor& logits_rv) {
  const bool wide = logits_rv.scalar_type() == at::kDouble;
  return at::log_softmax((wide ? logits_rv : logits_rv.to(at::kFloat)).clamp_min(kForbidden), -1);
}

/// sum a (log a - log b) by rows.
at::Tensor kl(const at::Tensor& la_rv, const at::Tensor& lb_rv) {
  return (la_rv.exp() * (la_rv - lb_rv)).sum(-1);
}

}  // namespace

void JsParams::visit(ParamVisitor& v) {
  v.field("beta", beta, "share of the teacher in the mixture").in(0.001, 0.999);
  v.field("normalise", normalise,
          "divide by beta (1 - beta), so that the ends are forward and reverse KL");
}

at::Tensor ForwardKl::operator()(const at::Tensor& student_rv, const at::Tensor& teacher_rv) const {
  return kl(log_probabilities(teacher_rv), log_probabilities(student_rv));
}

at::Tensor ReverseKl::operator()(const at::Tensor& student_rv, const at::Tensor& teacher_rv) const {
  return kl(log_probabilities(student_rv), log_probabilities(teacher_rv));
}

at::Tensor JensenShannon::operator()(const at::Tensor& student_rv,
                                     const at::Tensor& teacher_rv) const {
  const double beta = params_.beta;
  const at::Tensor lq = log_probabilities(student_rv), lp = log_probabilities(teacher_rv);
  const at::Tensor lm = at::logaddexp(lp + std::log(beta), lq + std::log1p(-beta));
  const at::Tensor value = kl(lp, lm) * beta + kl(lq, lm) * (1 - beta);
  return params_.normalise ? value / (beta * (1 - beta)) : value;
}

const std::vector<Alternative>& divergence_alternatives() {
  static const std::vector<Alternative> list = {
      {"reverse-kl", "KL(student || teacher)", [] { return std::make_shared<NoParams>(); }},
      {"forward-kl", "KL(teacher || student)", [] { return std::make_shared<NoParams>(); }},
      {"js", "Jensen-Shannon divergence to a mixture of both",
       [] { return std::make_shared<JsParams>(); }},
  };
  return list;
}

std::unique_ptr<Divergence> make_divergence(const Choice& choice) {
  if (choice.name == "forward-kl") return std::make_unique<ForwardKl>();
  if (choice.name == "reverse-kl") return std::make_unique<ReverseKl>();
  if (choice.name == "js") return std::make_unique<JensenShannon>(choice.as<JsParams>());
  fail(Fault::internal, "no divergence '", choice.name, "'");
}

}  // namespace cupel::distill
