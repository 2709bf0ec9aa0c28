// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "quant/learned_grid.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "core/tensor_util.h"

namespace cupel::quant {
namespace {

constexpr double kSmallestHalf = 0x1p-24, kLargestHalf = 65504;

}  // namespace

double RoundingSchedule::rate_at(int step) const {
  const double first = rate > 0 ? rate : 1.0 / std::max(steps, 1);
  return first * (1 - static_cast<double>(step) / std::max(steps, 1));
}

GridTensors grid_tensors(const format::WeightCode& code, const format::UniformLayout& layout,
                         at::Device device) {
  GridTensors t{.groups = layout.groups(code.cols),
                .width = std::min(layout.group_width(code.cols), code.cols),
                .top = static_cast<float>((1 << layout.bits_per_code()) - 1),
                .symmetric = layout.symmetric()};
  const auto shared = [&](const char* name) {
    return core::tensor_of(code.arrays.at(name)).to(at::kFloat).t().contiguous().to(device);
  };
  t.scale_go = shared("scales");
  t.zero_go = t.symmetric ? at::full(t.scale_go.sizes(), (t.top + 1) / 2, t.scale_go.options())
                          : shared("zeros");
  t.code_gdo = padded(core::tensor_of(code.arrays.at("codes")).to(device), t);
  return t;
}

void store(const GridTensors& from, format::WeightCode& code) {
  const at::Tensor codes_io =
      from.code_gdo.reshape({from.groups * from.width, -1}).slice(0, 0, code.cols);
  code.arrays["codes"] = core::array_of(codes_io.t());
  code.arrays["scales"] = core::array_of(from.scale_go.t().to(at::kHalf));
  if (!from.symmetric) code.arrays["zeros"] = core::array_of(from.zero_go.t().to(at::kByte));
}

at::Tensor padded(const at::Tensor& w_oi, const GridTensors& like) {
  const at::Tensor w_io = at::zeros({like.groups * like.width, w_oi.size(0)}, w_oi.options());
  w_io.slice(0, 0, w_oi.size(1)).copy_(w_oi.t());
  return w_io.view({like.groups, like.width, -1});
}

LearnedGrid::LearnedGrid(at::Tensor w_gdo, const GridTensors& start,
                         const RoundingSchedule& schedule)
    : schedule_(schedule), start_(start), w_(std::move(w_gdo)) {
  below_ = start.scale_go * start.zero_go;
  above_ = start.scale_go * (start.top - start.zero_go);
  clip_above_ = at::ones(start.scale_go.sizes(), w_.options());
  clip_below_ = at::ones(start.scale_go.sizes(), w_.options());
  offset_ = at::zeros(w_.sizes(), w_.options());
}

void LearnedGrid::place_grid() {
  const at::Tensor wanted = start_.symmetric
                                ? start_.scale_go * clip_above_
                                : (above_ * clip_above_ + below_ * clip_below_) / start_.top;
  scale_ = wanted.clamp(kSmallestHalf, kLargestHalf).to(at::kHalf).to(at::kFloat);
  zero_ = start_.symmetric ? start_.zero_go
                           : (below_ * clip_below_ / scale_).round_().clamp_(0, start_.top);
}

at::Tensor LearnedGrid::round() {
  place_grid();
  const at::Tensor scale = scale_.unsqueeze(1), zero = zero_.unsqueeze(1);
  steps_ = w_ / scale;
  const at::Tensor unbounded = (steps_ + offset_).round_();
  level_ = at::minimum(at::maximum(unbounded, -zero), start_.top - zero);
  inside_ = (unbounded == level_).to(at::kFloat);
  return scale * level_;
}

GridTensors LearnedGrid::tensors() const {
  GridTensors t = start_;
  t.code_gdo = (level_ + zero_.unsqueeze(1)).to(at::kByte);
  t.scale_go = scale_;
  t.zero_go = zero_;
  return t;
}

/// dL/ds.
at::Tensor LearnedGrid::by_scale(const at::Tensor& gradient_gdo) const {
  return (gradient_gdo * (level_ - inside_ * steps_)).sum(1);
}

void LearnedGrid::descend(const at::Tensor& gradient_gdo, double rate, GridMoves moves) {
  const at::Tensor scale_go = by_scale(gradient_gdo);
  if (moves.offsets) offset_.sub_(gradient_gdo.sign() * inside_, rate).clamp_(-0.5, 0.5);
  if (!moves.ranges) return;
  if (start_.symmetric) {
    move(clip_above_, scale_go, rate);
    return;
  }
  const at::Tensor by_zero = -(gradient_gdo * (1 - inside_)).sum(1) * scale_;
  const at::Tensor whole = scale_go - by_zero * below_ * clip_below_ / scale_.square();
  move(clip_above_, whole * above_, rate);
  move(clip_below_, whole * below_ / start_.top + by_zero * below_ / scale_, rate);
}

at::Tensor LearnedGrid::weight_gradient(const at::Tensor& gradient_gdo) const {
  at::Tensor by_weight = gradient_gdo * inside_;
  const at::Tensor scale_go = by_scale(gradient_gdo);
  // What a relative change of an extreme does to the step, at the weight that is the extreme.
  const auto add = [&](const at::Tensor& extreme_go, const at::Tensor& step_go) {
    const at::Tensor share_go =
        at::where(extreme_go == 0, at::zeros_like(step_go), scale_go * step_go / extreme_go);
    by_weight.add_((w_ == extreme_go.unsqueeze(1)) * share_go.unsqueeze(1));
  };
  const at::Tensor high = w_.amax(1), low = w_.amin(1);
  if (start_.symmetric) {
    add(at::where(high >= -low, high, low), scale_);
    return by_weight;
  }
  add(high.clamp_min(0), above_ * clip_above_ / start_.top);
  add(low.clamp_max(0), below_ * clip_below_ / start_.top);
  return by_weight;
}

void LearnedGrid::follow(at::Tensor w_gdo) {
  const auto grow = [](at::Tensor& range_go, const at::Tensor& from_go, const at::Tensor& to_go) {
    range_go =
        range_go * at::where((from_go > 0) & (to_go > 0), to_go / from_go, at::ones_like(from_go));
  };
  if (start_.symmetric) {
    grow(start_.scale_go, w_.abs().amax(1), w_gdo.abs().amax(1));
  } else {
    grow(above_, w_.amax(1).clamp_min(0), w_gdo.amax(1).clamp_min(0));
    grow(below_, (-w_.amin(1)).clamp_min(0), (-w_gdo.amin(1)).clamp_min(0));
  }
  w_ = std::move(w_gdo);
}

void LearnedGrid::move(at::Tensor& clip_go, const at::Tensor& gradient_go, double rate) const {
  clip_go.sub_(gradient_go.sign(), rate).clamp_(schedule_.smallest_clip, schedule_.largest_clip);
}

}  // namespace cupel::quant
