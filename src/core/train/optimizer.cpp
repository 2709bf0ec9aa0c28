// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/train/optimizer.h"

#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace cupel::core::train {
namespace {

bool is_half(const at::Tensor& t) {
  return t.scalar_type() == at::kBFloat16 || t.scalar_type() == at::kHalf;
}

at::Tensor norm_of(const at::Tensor& t) {
  return at::linalg_vector_norm(t, 2, std::nullopt, false, at::kDouble);
}

void restore(const std::map<std::string, at::Tensor>& state, const std::string& key,
             at::Tensor& into) {
  const auto found = state.find(key);
  CUPEL_CHECK(found != state.end(), data, "the checkpoint has no '", key,
              "'; it belongs to another training step");
  CUPEL_CHECK(found->second.sizes() == into.sizes(), data, "'", key,
              "' of the checkpoint has shape ", list_text(found->second.sizes()),
              ", the model needs ", list_text(into.sizes()));
  into.copy_(found->second);
}

}  // namespace

void AdamWParams::visit(ParamVisitor& v) {
  v.field("lr", lr, "highest learning rate").in(0, 10);
  v.field("beta1", beta1, "decay of the first moment").in(0, 0.99999);
  v.field("beta2", beta2, "decay of the second moment").in(0, 0.9999999);
  v.field("eps", eps, "added to the root of the second moment").in(1e-30, 1);
  v.field("weight_decay", weight_decay, "decoupled decay of matrices, times the learning rate")
      .in(0, 100);
  v.field("clip", clip, "largest global gradient norm; 0 is none").in(0, 1e9);
  v.field("warmup", warmup, "steps in which the learning rate grows linearly").in(0, 1e9);
  v.field("final_share", final_share, "share of lr that is left at the end of the cosine").in(0, 1);
}

double learning_rate(const AdamWParams& params, int64_t step, int64_t steps) {
  if (step < params.warmup)
    return params.lr * static_cast<double>(step + 1) / static_cast<double>(params.warmup);
  const double span = static_cast<double>(std::max<int64_t>(1, steps - 1 - params.warmup));
  const double done = std::min(1.0, static_cast<double>(step - params.warmup) / span);
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * done));
  return params.lr * (params.final_share + (1 - params.final_share) * cosine);
}

AdamW::AdamW(const AdamWParams& params, std::vector<std::pair<std::string, at::Tensor>> weights)
    : params_(params), weights_(std::move(weights)) {
  const c10::NoGradGuard no_grad;
  for (const auto& [name, w] : weights_) {
    master_.push_back(is_half(w) ? w.detach().to(at::kFloat) : w);
    first_.push_back(at::zeros_like(master_.back()));
    second_.push_back(at::zeros_like(master_.back()));
  }
}

double AdamW::gradient_norm() const {
  std::vector<at::Tensor> norms;
  for (const auto& [name, w] : weights_)
    if (w.grad().defined()) norms.push_back(norm_of(w.grad()));
  if (norms.empty()) return 0;
  const double norm = norm_of(at::stack(norms)).item<double>();
  if (std::isfinite(norm)) return norm;
  for (const auto& [name, w] : weights_)
    CUPEL_CHECK(!w.grad().defined() || std::isfinite(norm_of(w.grad()).item<double>()), data,
                "the gradient of '", name, "' is not finite at step ", steps_ + 1,
                "; likely cause: a learning rate that is too high");
  fail(Fault::data, "the gradient norm is not finite at step ", steps_ + 1);
}

void AdamW::update(std::size_t index, double lr, double gradient_scale) {
  const at::Tensor& w = weights_[index].second;
  if (!w.grad().defined()) return;
  at::Tensor& master = master_[index];
  const at::Tensor g = w.grad().to(master.scalar_type()).mul(gradient_scale);
  const double step = static_cast<double>(steps_);
  const double correction1 = 1 - std::pow(params_.beta1, step),
               correction2 = 1 - std::pow(params_.beta2, step);
  first_[index].mul_(params_.beta1).add_(g, 1 - params_.beta1);
  second_[index].mul_(params_.beta2).addcmul_(g, g, 1 - params_.beta2);
  const at::Tensor root = second_[index].sqrt().div_(std::sqrt(correction2)).add_(params_.eps);
  if (w.dim() >= 2) master.mul_(1 - lr * params_.weight_decay);
  master.addcdiv_(first_[index], root, -lr / correction1);
  if (!master.is_same(w)) w.copy_(master);
}

double AdamW::step(double lr) {
  const c10::NoGradGuard no_grad;
  const double norm = gradient_norm();
  ++steps_;
  const double scale = params_.clip > 0 && norm > params_.clip ? params_.clip / norm : 1;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    update(i, lr, scale);
    weights_[i].second.mutable_grad().reset();
  }
  return norm;
}

std::map<std::string, at::Tensor> AdamW::state() const {
  std::map<std::string, at::Tensor> out;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const auto& [name, w] = weights_[i];
    out["m/" + name] = first_[i];
    out["v/" + name] = second_[i];
    if (!master_[i].is_same(w)) out["w/" + name] = master_[i];
  }
  out["steps"] = at::full({1}, steps_, at::kLong);
  return out;
}

void AdamW::load_state(const std::map<std::string, at::Tensor>& state) {
  const c10::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const auto& [name, w] = weights_[i];
    restore(state, "m/" + name, first_[i]);
    restore(state, "v/" + name, second_[i]);
    if (master_[i].is_same(w)) continue;
    restore(state, "w/" + name, master_[i]);
    w.copy_(master_[i]);
  }
  at::Tensor steps = at::full({1}, 0, at::kLong);
  restore(state, "steps", steps);
  steps_ = steps.item<int64_t>();
}

}  // namespace cupel::core::train
