// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <vector>

#include "base/params.h"
#include "core/transform.h"

namespace cupel::core {

/// What may come before a rotation: `none` and the transforms that only scale inputs.
const std::vector<Alternative>& scaling_alternatives();

struct NoTransformParams : Params {
  void visit(ParamVisitor&) override {}
};
std::unique_ptr<const Transform> make_none(const NoTransformParams& params);

struct HadamardParams : Params {
  int block = 128;
  Choice before;
  HadamardParams();
  void visit(ParamVisitor& v) override;
};
std::unique_ptr<const Transform> make_hadamard(const HadamardParams& params);

struct SmoothParams : Params {
  double alpha = 0.5;
  void visit(ParamVisitor& v) override;
};
std::unique_ptr<const Transform> make_smooth(const SmoothParams& params);

/// Which sizes of weights AWQ divides by.
enum class AwqDuo { none, mean, max };
struct AwqParams : Params {
  int steps = 20;
  AwqDuo duo = AwqDuo::mean;
  void visit(ParamVisitor& v) override;
};
std::unique_ptr<const Transform> make_awq(const AwqParams& params);

/// Whether a scale is a power of two: free, as a whole (one common exponent), each by itself.
enum class PowerOfTwo { none, common, each };
struct BalanceParams : Params {
  PowerOfTwo power_of_two = PowerOfTwo::none;
  void visit(ParamVisitor& v) override;
};
std::unique_ptr<const Transform> make_balance(const BalanceParams& params);

}  // namespace cupel::core
