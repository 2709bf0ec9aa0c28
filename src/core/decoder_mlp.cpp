// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include "base/error.h"
#include "core/decoder_parts.h"

namespace cupel::core {
namespace {

using format::Activation;
using format::GroupScore;
using format::Role;
using format::Routing;

at::Tensor gated(const format::ModelConfig& c, const at::Tensor& gate, const at::Tensor& up) {
  switch (c.activation) {
    case Activation::silu:
      return at::silu(gate) * up;
    case Activation::gelu:
      return at::gelu(gate) * up;
    case Activation::gelu_tanh:
      return at::gelu(gate, "tanh") * up;
    case Activation::clamped_swiglu: {
      const at::Tensor g = gate.clamp_max(c.swiglu_limit);
      const at::Tensor u = up.clamp(-c.swiglu_limit, c.swiglu_limit);
      return (u + 1) * g * at::sigmoid(g * c.swiglu_alpha);
    }
  }
  fail(Fault::internal, "an activation without code");
}

/// The three matrices of one MLP.
struct MlpRoles {
  Role gate, up, down, gate_bias, up_bias, down_bias;
};
constexpr MlpRoles kDense = {Role::gate,      Role::up,      Role::down,
                             Role::gate_bias, Role::up_bias, Role::down_bias};
constexpr MlpRoles kExpert = {Role::expert_gate,      Role::expert_up,      Role::expert_down,
                              Role::expert_gate_bias, Role::expert_up_bias, Role::expert_down_bias};
constexpr MlpRoles kShared = {Role::shared_gate, Role::shared_up, Role::shared_down,
                              Role::gate_bias,   Role::up_bias,   Role::down_bias};

at::Tensor run_mlp(const LayerContext& layer, const at::Tensor& x, const MlpRoles& r, bool bias,
                   int expert = -1) {
  if (!layer.tell(r.gate, x, expert)) return {};
  const at::Tensor u = gated(layer.config, project(layer, x, r.gate, r.gate_bias, bias, expert),
                             project(layer, x, r.up, r.up_bias, bias, expert));
  if (!layer.tell(r.down, u, expert)) return {};
  return project(layer, u, r.down, r.down_bias, bias, expert);
}

/// Scores [rows, e] of which the best are chosen, those outside of the best groups shut out.
at::Tensor limit_groups(const format::Experts& e, const at::Tensor& scores) {
  if (e.group_score == GroupScore::none || e.groups <= 1) return scores;
  const at::Tensor by_group = scores.view({scores.size(0), e.groups, -1});
  const bool largest = e.group_score == GroupScore::largest;
  const at::Tensor of_group =
      std::get<0>(at::topk(by_group, largest ? 1 : 2, -1)).sum(-1);  // [rows, groups]
  const at::Tensor best = std::get<1>(at::topk(of_group, e.best_groups, -1));
  const at::Tensor open =
      at::zeros_like(of_group).scatter(1, best, 1).unsqueeze(-1).expand_as(by_group);
  const double shut = largest ? 0 : -std::numeric_limits<double>::infinity();
  return by_group.masked_fill(open == 0, shut).reshape_as(scores);
}

at::Tensor run_experts(const LayerContext& layer, const at::Tensor& x_rh) {
  const format::Experts& e = layer.config.experts;
  const at::Tensor weights_re = route(layer, x_rh);
  at::Tensor out = at::zeros_like(x_rh);
  for (int i = 0; i < e.count; ++i) {
    const at::Tensor weight_r = weights_re.select(1, i);
    const at::Tensor rows = weight_r.nonzero().squeeze(1);
    if (rows.numel() == 0) continue;
    const at::Tensor y = run_mlp(layer, x_rh.index_select(0, rows), kExpert, e.bias, i);
    if (!y.defined()) return {};
    const at::Tensor scale = weight_r.index_select(0, rows).unsqueeze(1).to(y.scalar_type());
    out = out.index_add(0, rows, y * scale);
  }
  if (e.shared_width == 0) return out;
  at::Tensor shared = run_mlp(layer, x_rh, kShared, false);
  if (!shared.defined()) return {};
  if (e.shared_router)
    shared = at::sigmoid(at::linear(x_rh, layer.weights.of(Role::shared_router))) * shared;
  return out + shared;
}

}  // namespace

at::Tensor route(const LayerContext& layer, const at::Tensor& x_rh) {
  const format::Experts& e = layer.config.experts;
  at::Tensor logits = at::linear(wide(x_rh), wide(layer.weights.of(Role::router)));
  if (e.router_bias) logits = logits + wide(layer.weights.of(Role::router_bias));
  at::Tensor scores = logits, chooser;
  if (e.routing == Routing::softmax_first) scores = at::softmax(logits, -1);
  if (e.routing == Routing::sigmoid) scores = at::sigmoid(logits);
  chooser = scores;
  if (e.router_correction) chooser = scores + wide(layer.weights.of(Role::router_correction));
  const at::Tensor chosen = std::get<1>(at::topk(limit_groups(e, chooser), e.active, -1));
  at::Tensor weights = scores.gather(1, chosen);
  if (e.routing == Routing::best_first) weights = at::softmax(weights, -1);
  if (e.renormalise) {
    const double tiny = e.routing == Routing::sigmoid ? 1e-20 : 0;
    weights = weights / (weights.sum(-1, true) + tiny);
  }
  return at::zeros_like(logits).scatter(1, chosen, weights * e.scale);
}

at::Tensor mlp(const LayerContext& layer, const at::Tensor& x_nth) {
  const format::ModelConfig& c = layer.config;
  const at::Tensor x = c.pre_norm ? layer_norm(layer, x_nth, Role::mlp_norm) : x_nth;
  if (!c.kind(layer.index).sparse) return run_mlp(layer, x, kDense, c.mlp_bias);
  const at::Tensor y = run_experts(layer, x.reshape({-1, c.hidden}));
  return y.defined() ? y.view_as(x) : y;
}

}  // namespace cupel::core
