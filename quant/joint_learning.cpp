// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// With z = Q(T x), dy = V z - W x and G of each matrix:
//   dJ/dV = G (V E[z z^T] - W E[x z^T]),  dJ/dz = V^T G (V z - W x) / tokens.
// T = R D, R orthonormal, D = diag(s): both meet in s_i, through V = code(W D^-1 R^T) and z.
#include "quant/joint_learning.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "core/product.h"
#include "core/rounded_input.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/scaling.h"

namespace cupel::quant {
namespace {

using core::product;

// Times that scales move, and the moments of the inputs are taken anew.
constexpr int kScalingSteps = 12;
// Adam's memory of the gradient and of its square.
constexpr double kFirst = 0.8, kSecond = 0.9;
// Scales of inputs stay within a factor of e^4 of where they began.
constexpr double kLargestMove = 4;

/// T^-1 on rows: of a gradient by z or by W', it leaves that by s times s, or by W.
at::Tensor undone(const format::InputTransform& t, const at::Tensor& rows_ni) {
  at::Tensor host = core::host_float(rows_ni).clone();
  format::undo(t, host.mutable_data_ptr<float>(), host.size(0), host.size(1));
  return host.to(rows_ni.device());
}

/// Adam on the logarithms of the scales. Inputs that were always zero stay as they are.
class Scales {
 public:
  Scales(const format::InputTransform& start, const at::Tensor& alive_i)
      : start_(start),
        alive_i_(alive_i),
        move_i_(at::zeros_like(alive_i)),
        first_i_(at::zeros_like(alive_i)),
        second_i_(at::zeros_like(alive_i)) {}

  void descend(const at::Tensor& gradient_i, double rate) {
    ++steps_;
    const at::Tensor g_i = gradient_i.to(at::kCPU, at::kDouble) * alive_i_;
    first_i_.mul_(kFirst).add_(g_i, 1 - kFirst);
    second_i_.mul_(kSecond).add_(g_i.square(), 1 - kSecond);
    const at::Tensor size_i = (second_i_ / (1 - std::pow(kSecond, steps_))).sqrt();
    const at::Tensor step_i = first_i_ / (1 - std::pow(kFirst, steps_)) / size_i;
    move_i_.sub_(at::where(size_i > 0, step_i, at::zeros_like(step_i)), rate)
        .clamp_(-kLargestMove, kLargestMove);
  }
  /// x [i] is multiplied by it.
  at::Tensor scale() const {
    const at::Tensor begin_i =
        start_.scale.empty()
            ? at::ones(alive_i_.sizes(), alive_i_.options())
            : core::tensor_of(std::span<const float>(start_.scale), alive_i_.sizes())
                  .to(at::kDouble);
    return begin_i * at::exp(move_i_);
  }
  format::InputTransform transform() const {
    format::InputTransform t = start_;
    const at::Tensor scale_i = core::host_float(scale());
    const auto values = core::floats(scale_i);
    t.scale.assign(values.begin(), values.end());
    return t;
  }

 private:
  format::InputTransform start_;
  at::Tensor alive_i_, move_i_, first_i_, second_i_;  ///< float64 on the host
  int steps_ = 0;
};

/// One matrix in the basis of the moment.
struct Matrix {
  const OutputMetric& outputs;
  LearnedGrid grid;
  GridTensors start;
  at::Tensor w_io;  ///< W'
  std::optional<OutputLoss> loss;
  at::Tensor v_io, gradient_io;  ///< of the last rounding

  at::Tensor as_io(const at::Tensor& gdo) const {
    return gdo.reshape({-1, w_io.size(1)}).slice(0, 0, w_io.size(0));
  }
  at::Tensor as_gdo(const at::Tensor& io) const { return padded(io.t(), start); }
};

class Learner {
 public:
  Learner(const JointProblem& problem, const JointSchedule& schedule, const JointState& start)
      : problem_(problem),
        schedule_(schedule),
        state_(start),
        scales_(start.input.transform, alive()) {
    place_basis();
    for (std::size_t m = 0; m < problem.w_oi.size(); ++m) {
      const auto layout =
          std::dynamic_pointer_cast<const format::UniformLayout>(start.codes[m].layout);
      CUPEL_ASSERT(layout);
      const at::Tensor w_oi = core::transform_weight(state_.input.transform, problem.w_oi[m]);
      const GridTensors grid = grid_tensors(start.codes[m], *layout, w_oi.device());
      matrices_.push_back({.outputs = problem.outputs[m],
                           .grid = LearnedGrid(padded(w_oi, grid), grid, schedule.rounding),
                           .start = grid,
                           .w_io = w_oi.t().contiguous()});
      place(matrices_.back());
    }
  }

  JointLoss run(JointState& best) {
    const int steps = schedule_.rounding.steps;
    JointLoss loss;
    for (int t = 0;; ++t) {
      const double now = judge();
      if (t == 0) loss.before = loss.after = now;
      if (t == 0 || now < loss.after) {
        loss.after = now;
        keep(best);
      }
      if (t >= steps) return loss;
      step(t);
    }
  }

 private:
  /// What moves at a step, and how far through its own stage that is.
  struct Stage {
    Learnables moves;
    int step = 0;  ///< in steps of the whole schedule
  };
  Stage stage_of(int t) const {
    const Learnables& all = schedule_.learn;
    if (schedule_.order == LearningOrder::joint) return {all, t};
    std::vector<Learnables> stages;
    if (all.scaling) stages.push_back({true, false, false});
    if (all.ranges) stages.push_back({false, true, false});
    if (all.rounding) stages.push_back({false, false, true});
    if (stages.empty()) return {all, t};
    const int count = static_cast<int>(stages.size()), steps = schedule_.rounding.steps;
    return {stages[static_cast<std::size_t>(t * count / steps)], t * count % steps};
  }

  void step(int t) {
    const Stage stage = stage_of(t);
    const double rate = schedule_.rounding.rate_at(stage.step);
    const int every = std::max(1, schedule_.rounding.steps / kScalingSteps);
    const bool scale = stage.moves.scaling && t % every == 0;
    if (scale) {
      const double left = 1 - static_cast<double>(stage.step) / schedule_.rounding.steps;
      scales_.descend(scale_gradient(), schedule_.scaling_rate * left);
    }
    for (Matrix& m : matrices_)
      m.grid.descend(m.as_gdo(m.gradient_io), rate,
                     {.ranges = stage.moves.ranges, .offsets = stage.moves.rounding});
    if (!scale) return;
    place_basis();
    for (std::size_t k = 0; k < matrices_.size(); ++k) {
      Matrix& m = matrices_[k];
      m.w_io = core::transform_weight(state_.input.transform, problem_.w_oi[k]).t().contiguous();
      m.grid.follow(m.as_gdo(m.w_io));
      place(m);
    }
  }

  at::Tensor alive() const {
    const at::Tensor energy_i = problem_.own_ti.defined() ? problem_.own_ti.abs().amax(0)
                                                          : problem_.second_moment_ii.diagonal();
    return (energy_i > 0).to(at::kCPU, at::kDouble);
  }

  /// The transform of the scales, and the moments in its basis.
  void place_basis() {
    if (schedule_.learn.scaling) state_.input.transform = scales_.transform();
    if (!problem_.own_ti.defined()) {
      moments_ = {.tokens = problem_.tokens,
                  .zz_ii = core::transform_second_moment(state_.input.transform,
                                                         problem_.second_moment_ii)};
    } else {
      pair_ = core::input_pair(problem_.own_ti, problem_.reference_ti, state_.input);
      moments_ = {};
      core::add_moments(pair_, moments_);
    }
  }
  void place(Matrix& m) const { m.loss.emplace(m.outputs, m.w_io.t(), moments_); }

  /// Rounds, and takes the gradients. J.
  double judge() {
    double loss = 0;
    for (Matrix& m : matrices_) {
      m.v_io = m.as_io(m.grid.round()).contiguous();
      OutputLoss::Judged judged = m.loss->judge(m.v_io);
      m.gradient_io = std::move(judged.gradient_io);
      loss += judged.loss;
    }
    return loss;
  }

  /// dJ / d log s.
  at::Tensor scale_gradient() const {
    const format::InputTransform& t = state_.input.transform;
    at::Tensor by_log_i = at::zeros({moments_.zz_ii.size(0)}, at::kDouble);
    for (std::size_t k = 0; k < matrices_.size(); ++k) {
      const Matrix& m = matrices_[k];
      const at::Tensor by_weight_io = m.as_io(m.grid.weight_gradient(m.as_gdo(m.gradient_io)));
      const at::Tensor by_w_oi = undone(t, by_weight_io.t());
      by_log_i.sub_((problem_.w_oi[k] * by_w_oi).sum(0, false, at::kDouble).cpu());
    }
    if (!state_.input.rounding.none()) by_log_i.add_(through_inputs());
    return by_log_i;
  }

  /// The part of it through z, of which T x and the step of its rounding are functions.
  at::Tensor through_inputs() const {
    at::Tensor a_ii, b_ii;  // sums of V^T G V and of W'^T G V
    for (const Matrix& m : matrices_) {
      const at::Tensor weighed_oi = m.outputs.times(m.v_io).t().contiguous();
      const at::Tensor a = product(m.v_io, weighed_oi), b = product(m.w_io, weighed_oi);
      a_ii = a_ii.defined() ? a_ii + a : a;
      b_ii = b_ii.defined() ? b_ii + b : b;
    }
    const at::Tensor g_ti = (product(pair_.z_ti, a_ii) - product(pair_.x_ti, b_ii)) /
                            static_cast<double>(pair_.z_ti.size(0));
    const format::InputTransform& t = state_.input.transform;
    const at::Tensor own_ti = core::transform_input(t, problem_.own_ti);
    const at::Tensor by_x_ti =
        undone(t, core::rounding_gradient(state_.input.rounding, own_ti, pair_.z_ti, g_ti));
    const at::Tensor scale_i = scales_.scale();
    return (by_x_ti * problem_.own_ti).sum(0, false, at::kDouble).cpu() * scale_i * scale_i;
  }

  void keep(JointState& best) const {
    best.input = state_.input;
    for (std::size_t k = 0; k < matrices_.size(); ++k)
      store(matrices_[k].grid.tensors(), best.codes[k]);
  }

  const JointProblem& problem_;
  const JointSchedule& schedule_;
  JointState state_;
  Scales scales_;
  core::InputMoments moments_;
  core::InputPair pair_;
  std::vector<Matrix> matrices_;
};

}  // namespace

JointLoss learn_jointly(const JointProblem& problem, const JointSchedule& schedule,
                        JointState& state) {
  const c10::NoGradGuard no_grad;
  CUPEL_ASSERT(!problem.w_oi.empty() && problem.outputs.size() == problem.w_oi.size() &&
               state.codes.size() == problem.w_oi.size());
  const JointState start = state;
  return Learner(problem, schedule, start).run(state);
}

}  // namespace cupel::quant
