// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/params.h"
#include "base/rng.h"
#include "core/quantizer.h"
#include "core/stats.h"
#include "format/weight_code.h"

namespace cupel::core {

// Axes: o outputs, i inputs. T acts on the input x; W' = W T^-1 is what gets rounded, H' = T H T^T
// its second moment.

/// Error of a group's outputs, per token, when its weights are rounded in the basis of a transform.
using TransformLoss = std::function<double(const format::InputTransform&)>;

/// What a transform may look at. `stats` holds what its needs() asked for, unless no token was
/// seen.
struct TransformSource {
  const MatrixGroup& group;
  const Stats& stats;
  const Rng& rng;
  TransformLoss loss;  ///< for those that search; expensive, and only called by them
};

struct MadeTransform {
  format::InputTransform transform;
  std::string note;      ///< what became of the recipe's wish, if not what it says; what was found
  std::string fallback;  ///< not empty: "no scaling of inputs: " and why
};

/// The recipe's `transform`: how the basis of a group's inputs is chosen. Stateless, thread-safe;
/// all matrices of a group share one transform. It never fails for bad statistics: it leaves out
/// what they were to decide, and says so.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual Needs needs() const = 0;
  virtual MadeTransform make(const TransformSource& source) const = 0;
};

/// `none`, `hadamard`, `smooth`, `awq`, `balance`: the choices of the recipe's `transform`.
const std::vector<Alternative>& transform_alternatives();
std::unique_ptr<const Transform> make_transform(const Choice& choice);

/// Adds a transform's fallback to that of each matrix.
void add_fallback(std::span<MatrixResult> results, const std::string& fallback);

/// The fast Hadamard transform, not scaled, of each run of `power` inputs of x [.., i], in the type
/// of x.
at::Tensor hadamard_runs(const at::Tensor& x, int64_t power);

/// W T^-1 in float32, computed in float64, on the device of w.
at::Tensor transform_weight(const format::InputTransform& transform, const at::Tensor& w_oi);
/// T H T^T in float64, on the device of h.
at::Tensor transform_second_moment(const format::InputTransform& transform, const at::Tensor& h_ii);

}  // namespace cupel::core
