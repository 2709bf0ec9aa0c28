// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/experts.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "runtime/finite.h"

namespace cupel::runtime {

ExpertStep::ExpertStep(StepContext& context, MlpStep& mlp)
    : c_(context), mlp_(mlp), config_(c_.config.experts), router_(config_, c_.cpu) {}

int64_t ExpertStep::floats() const {
  return config_.count + 2 * config_.active * c_.config.hidden + c_.config.hidden;
}

void ExpertStep::run(int64_t layer, const Produce& produce) {
  const Model::Experts& experts = c_.layer(layer).experts;
  const int64_t hidden = c_.config.hidden, visits = c_.m * config_.active;
  route(layer, produce);
  group(experts);
  float *in = in_ri_.reserve(visits * hidden), *out = out_ri_.reserve(visits * hidden);
  mlp_.run(
      in, groups_,
      [&](int64_t r) {
        const int64_t t = position_of_visit_[static_cast<std::size_t>(r)];
        std::copy_n(c_.h_ti.get() + t * hidden, hidden, in + r * hidden);
      },
      out);
  if (config_.shared_width > 0) {
    // h is not needed any more.
    const MlpGroup all{&experts.shared, c_.m};
    mlp_.run(
        c_.h_ti.get(), {&all, 1}, [](int64_t) {}, shared_ti_.reserve(c_.m * hidden));
  }
  c_.pool.for_range(c_.m, grain_of(hidden * config_.active), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) add_up(experts, t);
  });
}

void ExpertStep::route(int64_t layer, const Produce& produce) {
  static const kernels::RowTransform kIdentity;
  const Model::Experts& experts = c_.layer(layer).experts;
  float* logits = logits_te_.reserve(c_.m * config_.count);
  float* gate = shared_gate_t_.reserve(c_.m);
  const std::vector<LinearOutput> outputs =
      config_.shared_router
          ? std::vector<LinearOutput>{{&experts.router, logits}, {&experts.shared_router, gate}}
          : std::vector<LinearOutput>{{&experts.router, logits}};
  c_.linear.run(c_.h_ti.get(), c_.m, kIdentity, outputs, produce);
  if (config_.shared_router) c_.cpu.sigmoid(gate, c_.m);
  chosen_.resize(static_cast<std::size_t>(c_.m * config_.active));
  for (int64_t t = 0; t < c_.m; ++t) {
    float* row = logits + t * config_.count;
    add_bias(row, experts.router_bias);
    CUPEL_CHECK(all_finite(row, config_.count), data, "model.layers.", layer,
                ": the router's output at position ", c_.rows[static_cast<std::size_t>(t)].position,
                " is not finite; its weights, or those of a layer before it, are damaged");
    const auto at = static_cast<std::size_t>(t * config_.active),
               active = static_cast<std::size_t>(config_.active);
    router_.choose({row, static_cast<std::size_t>(config_.count)}, experts.router_correction,
                   std::span(chosen_).subspan(at, active));
  }
}

void ExpertStep::group(const Model::Experts& experts) {
  visits_.assign(static_cast<std::size_t>(config_.count), 0);
  for (const Choice& choice : chosen_) ++visits_[static_cast<std::size_t>(choice.expert)];
  groups_.clear();
  int64_t first = 0;
  for (std::size_t e = 0; e < visits_.size(); ++e) {
    if (visits_[e] > 0) groups_.push_back({&experts.routed[e], visits_[e]});
    first += std::exchange(visits_[e], first);  // from here on: the expert's next visit
  }
  visit_of_choice_.resize(chosen_.size());
  position_of_visit_.resize(chosen_.size());
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    const int64_t visit = visits_[static_cast<std::size_t>(chosen_[i].expert)]++;
    visit_of_choice_[i] = visit;
    position_of_visit_[static_cast<std::size_t>(visit)] = static_cast<int64_t>(i) / config_.active;
  }
}

void ExpertStep::add_up(const Model::Experts& experts, int64_t t) {
  const int64_t hidden = c_.config.hidden;
  float* d = c_.d_ti.get() + t * hidden;
  std::fill_n(d, hidden, 0.0F);
  for (int64_t j = 0; j < config_.active; ++j) {
    const auto i = static_cast<std::size_t>(t * config_.active + j);
    const auto [expert, weight] = chosen_[i];
    float* y = out_ri_.get() + visit_of_choice_[i] * hidden;
    add_bias(y, experts.routed[static_cast<std::size_t>(expert)].down_bias);
    for (int64_t k = 0; k < hidden; ++k) d[k] += weight * y[k];
  }
  if (config_.shared_width == 0) return;
  const float gate = config_.shared_router ? shared_gate_t_.get()[t] : 1.0F;
  const float* y = shared_ti_.get() + t * hidden;
  for (int64_t k = 0; k < hidden; ++k) d[k] += gate * y[k];
}

}  // namespace cupel::runtime
