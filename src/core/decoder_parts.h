// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include "core/model.h"

/// The parts of a decoder layer. Axes: n sequences, t new positions, s all positions (cache
/// included), h hidden, d head dimension, e experts. Internal to core.
namespace cupel::core {

/// The input that was rounded last: matrices that share one read the same numbers.
struct LastRounded {
  at::Tensor x, read;
  const format::RoundedInput* input = nullptr;
};

/// One layer at work.
struct LayerContext {
  const format::ModelConfig& config;
  int index;
  const LayerWeights& weights;
  const Tap& tap;
  const ProductHook& product;
  LastRounded& rounded;

  /// False if the tap wants no more.
  bool tell(format::Role first, const at::Tensor& x, int expert = -1) const {
    return !tap || tap({first, index, expert}, x);
  }
};

/// Half types as float32; float32 and float64 as they are.
at::Tensor wide(const at::Tensor& x);
/// Over the last axis, in float32; multiplies by w, or by 1 + w.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool plus_one);
/// The same with the layer's own weight and constants.
at::Tensor layer_norm(const LayerContext& layer, const at::Tensor& x, format::Role role);

/// What attention adds to x [n, t, h], before the norm of its output; undefined if the tap stopped.
at::Tensor attention(const LayerContext& layer, const at::Tensor& x_nth, const RopeTable& rope,
                     KvCache* cache);
/// The same for the MLP, dense or of experts.
at::Tensor mlp(const LayerContext& layer, const at::Tensor& x_nth);
/// Routing weights [rows, e] of x [rows, h], 0 for experts that are not chosen.
at::Tensor route(const LayerContext& layer, const at::Tensor& x_rh);

/// x w^T, of x as the matrix reads it.
at::Tensor multiply(const LayerContext& layer, const at::Tensor& x, format::Role matrix,
                    int expert = -1);
/// x w^T + b; b only if `bias` is a role that the layer has.
at::Tensor project(const LayerContext& layer, const at::Tensor& x, format::Role matrix,
                   format::Role bias, bool with_bias, int expert = -1);

}  // namespace cupel::core
