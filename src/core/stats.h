// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cupel::core {

/// What a method wants to know about the input of a group of matrices.
struct Needs {
  bool second_moment = false;  ///< sum of x x^T
  bool absmax = false;         ///< largest |x| per input
  bool abs_sum = false;        ///< sum of |x| per input
  bool block = false;          ///< the whole block at once (core::BlockHandle)
  bool inputs = false;         ///< the inputs themselves
  bool cross_moment = false;   ///< sum of x x~^T, x what the original model gives at the same token
  bool any() const { return second_moment || absmax || abs_sum || block || inputs || cross_moment; }
  Needs operator|(const Needs& o) const {
    return {.second_moment = second_moment || o.second_moment,
            .absmax = absmax || o.absmax,
            .abs_sum = abs_sum || o.abs_sum,
            .block = block || o.block,
            .inputs = inputs || o.inputs,
            .cross_moment = cross_moment || o.cross_moment};
  }
};

/// Statistics of the input of one group (legend: i inputs). Sums are float64, over `tokens` tokens.
struct Stats {
  int64_t tokens = 0;
  at::Tensor second_moment_ii;  ///< undefined unless asked for
  at::Tensor absmax_i;
  at::Tensor abs_sum_i;
  at::Tensor cross_moment_ii;  ///< rows: the original's inputs; undefined where those are not known
  std::vector<at::Tensor> inputs;  ///< x [t, i] float32 in order, one piece for each call of add()
  std::vector<at::Tensor> original_inputs;  ///< with a cross moment: the original's, piece by piece

  /// Adds x [.., i], and what the original model gives in its place, where that is known. Products
  /// are taken in float32 in pieces of 1024 tokens, summed in float64.
  void add(const Needs& needs, const at::Tensor& x, const at::Tensor& original = {});
  /// False if a number is NaN or infinite.
  bool finite() const;

 private:
  void add_cross(const Needs& needs, const at::Tensor& x_ti, const at::Tensor& original);
};

}  // namespace cupel::core
