// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "quant/learned_rounding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "core/feedback_kernels.h"
#include "core/parallel.h"

namespace cupel::quant {
namespace {

// Outputs that are learned together: on the host what caches hold, on a device what fills it.
constexpr int64_t kHostOutputs = 64, kDeviceOutputs = 4096;

/// Outputs [from, from + count) of the last axis; the host's product takes whole steps of them:
/// what is added is `fill`.
at::Tensor outputs_of(const at::Tensor& t, int64_t from, int64_t count, double fill) {
  constexpr int64_t kStep = core::kernels::kWidthStep;
  std::vector<int64_t> shape = t.sizes().vec();
  shape.back() = (count + kStep - 1) / kStep * kStep;
  const at::Tensor out = at::zeros(shape, t.options()).fill_(fill);
  out.narrow(-1, 0, count).copy_(t.narrow(-1, from, count));
  return out;
}

/// H E^T, which is (E H)^T.
at::Tensor times_moment(const at::Tensor& h_ii, const at::Tensor& error_gdo) {
  const int64_t inputs = h_ii.size(0), outputs = error_gdo.size(2);
  if (!error_gdo.device().is_cpu())
    return at::matmul(h_ii, error_gdo.view({inputs, outputs})).view(error_gdo.sizes());
  at::Tensor out = at::zeros(error_gdo.sizes(), error_gdo.options());
  core::kernels::add_product(out.mutable_data_ptr<float>(), outputs,
                             {h_ii.const_data_ptr<float>(), inputs, 1},
                             error_gdo.const_data_ptr<float>(), outputs, inputs, inputs, outputs);
  return out;
}

void keep_better(const at::Tensor& better_o, const GridTensors& now, GridTensors& best) {
  best.code_gdo = at::where(better_o, now.code_gdo, best.code_gdo);
  best.scale_go = at::where(better_o, now.scale_go, best.scale_go);
  best.zero_go = at::where(better_o, now.zero_go, best.zero_go);
}

/// Some outputs and what their errors cost.
struct Panel {
  at::Tensor w_gdo;
  const at::Tensor& h_ii;
  const RoundingSchedule& schedule;
};

/// A rounding, the loss of each output, and half of what would lower it: the sign is what matters.
struct Judged {
  at::Tensor loss_o, pull_gdo;
};
Judged judge(const Panel& panel, LearnedGrid& grid) {
  const at::Tensor error = panel.w_gdo - grid.round();
  const at::Tensor pull = times_moment(panel.h_ii, error);
  return {(error * pull).sum(at::IntArrayRef({0, 1}), false, at::kDouble), pull};
}

/// Learns from `tensors`, which become the best.
RoundingLoss learn(const Panel& panel, const GridTensors* other, GridTensors& tensors) {
  LearnedGrid start(panel.w_gdo, tensors, panel.schedule);
  at::Tensor best_o = judge(panel, start).loss_o;
  tensors = start.tensors();
  RoundingLoss loss{.before = best_o.sum().item<double>()};
  const auto keep = [&](const at::Tensor& loss_o, const LearnedGrid& grid) {
    keep_better(loss_o < best_o, grid.tensors(), tensors);
    best_o = at::where(loss_o < best_o, loss_o, best_o);
  };
  if (other) {
    LearnedGrid second(panel.w_gdo, *other, panel.schedule);
    keep(judge(panel, second).loss_o, second);
  }
  LearnedGrid grid(panel.w_gdo, tensors, panel.schedule);
  for (int t = 0;; ++t) {
    const Judged now = judge(panel, grid);
    keep(now.loss_o, grid);
    if (t >= panel.schedule.steps) break;
    grid.descend(-now.pull_gdo, panel.schedule.rate_at(t));
  }
  loss.after = best_o.sum().item<double>();
  return loss;
}

/// The scales and zeros of outputs [row, row + count).
GridTensors some_of(const GridTensors& all, int64_t row, int64_t count) {
  GridTensors some = all;
  some.scale_go = outputs_of(all.scale_go, row, count, 1);
  some.zero_go = outputs_of(all.zero_go, row, count, 0);
  return some;
}

}  // namespace

RoundingLoss learn_rounding(const at::Tensor& w_oi, const at::Tensor& h_ii,
                            const RoundingSchedule& schedule, format::WeightCode& code,
                            const format::WeightCode* other) {
  const c10::NoGradGuard no_grad;
  const auto layout = std::dynamic_pointer_cast<const format::UniformLayout>(code.layout);
  CUPEL_ASSERT(layout && w_oi.size(0) == code.rows && w_oi.size(1) == code.cols);
  CUPEL_ASSERT(w_oi.device() == h_ii.device());
  const GridTensors all = grid_tensors(code, *layout, w_oi.device());
  const GridTensors others = other ? grid_tensors(*other, *layout, w_oi.device()) : GridTensors();
  const at::Tensor w_gdo = padded(w_oi.to(at::kFloat), all);
  const int64_t inputs = all.groups * all.width;
  const at::Tensor whole_ii = at::zeros({inputs, inputs}, w_gdo.options());
  whole_ii.slice(0, 0, code.cols).slice(1, 0, code.cols).copy_(h_ii);

  const bool host = w_oi.device().is_cpu();
  const int64_t step = host ? kHostOutputs : kDeviceOutputs;
  std::vector<RoundingLoss> losses(static_cast<std::size_t>((code.rows + step - 1) / step));
  const auto learn_panels = [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad_here;
    for (int64_t k = begin; k < end; ++k) {
      const int64_t row = k * step, count = std::min(step, code.rows - row);
      const GridTensors second = other ? some_of(others, row, count) : GridTensors();
      GridTensors some = some_of(all, row, count);
      losses[static_cast<std::size_t>(k)] = learn(
          {outputs_of(w_gdo, row, count, 0), whole_ii, schedule}, other ? &second : nullptr, some);
      all.code_gdo.narrow(-1, row, count).copy_(some.code_gdo.narrow(-1, 0, count));
      all.scale_go.narrow(-1, row, count).copy_(some.scale_go.narrow(-1, 0, count));
      all.zero_go.narrow(-1, row, count).copy_(some.zero_go.narrow(-1, 0, count));
    }
  };
  const auto panels = static_cast<int64_t>(losses.size());
  if (host)
    core::parallel_for(0, panels, 1, learn_panels);
  else
    learn_panels(0, panels);
  store(all, code);
  RoundingLoss total;
  for (const RoundingLoss& loss : losses) {
    total.before += loss.before;
    total.after += loss.after;
  }
  return total;
}

}  // namespace cupel::quant
