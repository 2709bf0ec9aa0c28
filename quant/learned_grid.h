// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include "format/layouts/uniform.h"

/// Axes: o outputs, i inputs, g groups of inputs, d inputs of a group.
namespace cupel::quant {

/// How signed gradient descent moves a grid and the rounding to it.
struct RoundingSchedule {
  int steps = 200;
  double rate = 0;  ///< of the first step, falls to zero linearly; 0: 1 / steps
  double smallest_clip = 0.5, largest_clip = 1.5;  ///< to the range of the grid at the start
  double rate_at(int step) const;
};

/// A uniform code with inputs first and groups made whole: [g, d, o], padded with zeros.
struct GridTensors {
  int64_t groups = 0, width = 0;  ///< width: inputs of a group
  float top = 0;                  ///< the highest code
  bool symmetric = false;
  at::Tensor code_gdo;           ///< byte
  at::Tensor scale_go, zero_go;  ///< float32
};

/// The tensors of `code`, on `device`.
GridTensors grid_tensors(const format::WeightCode& code, const format::UniformLayout& layout,
                         at::Device device);
/// And back.
void store(const GridTensors& from, format::WeightCode& code);
/// w_oi as [g, d, o].
at::Tensor padded(const at::Tensor& w_oi, const GridTensors& like);

/// What a step may move.
struct GridMoves {
  bool ranges = true, offsets = true;
};

/// What is learned of some outputs: offsets of the rounding in [-0.5, 0.5] steps of the grid, and
/// how far each end of a group's range is clipped. Rounding counts as the identity. Gradients by
/// hand, from dL/dV: dV/d offset = s, dV/ds = k - w/s where k = round(w/s + offset) is inside the
/// grid; outside dV/ds = k and dV/dz = -s.
class LearnedGrid {
 public:
  /// From the grid of `start`, no offset; w_gdo must not change.
  LearnedGrid(at::Tensor w_gdo, const GridTensors& start, const RoundingSchedule& schedule);
  /// Places the grid, as it is stored, and rounds to it. What it decodes to.
  at::Tensor round();
  /// The last rounding.
  GridTensors tensors() const;
  /// Against the sign of dL/dV [g, d, o] at the last round().
  void descend(const at::Tensor& gradient_gdo, double rate, GridMoves moves = {});
  /// dL/dw from dL/dV at the last round(), where ranges follow the extremes of their group: also
  /// through the step, whose derivative by the extreme is its share in the step.
  at::Tensor weight_gradient(const at::Tensor& gradient_gdo) const;
  /// Another weight from now on; ranges keep their ratio to the extremes of their group.
  void follow(at::Tensor w_gdo);

 private:
  void place_grid();
  at::Tensor by_scale(const at::Tensor& gradient_gdo) const;
  void move(at::Tensor& clip_go, const at::Tensor& gradient_go, double rate) const;
  RoundingSchedule schedule_;
  GridTensors start_;
  at::Tensor w_, below_, above_;  ///< how far the first grid reaches from zero
  at::Tensor offset_, clip_above_, clip_below_;
  at::Tensor scale_, zero_, steps_, level_, inside_;  ///< of the last round()
};

}  // namespace cupel::quant
