// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: the diagonal that makes inputs and weights equally uneven.
// Formula: s_i = (H_ii / |w_i|^2)^(1/4), the least tr(H') |W'|^2, x' = x / s, W' = W diag(s).
// Source: "QuIP#: Even Better LLM Quantization with Hadamard Incoherence and Lattice Codebooks".
// Cost: one pass over the weights; a multiplication per input at run time.
// Differs: scales may be powers of two, or share an exponent that keeps x' above float16's
// subnormal numbers.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

#include "core/transforms/list.h"
#include "core/transforms/scaling.h"

namespace cupel::core {
namespace {

constexpr double kSmallestNormalHalfLog2 = -14;

class Balance : public Transform {
 public:
  explicit Balance(const BalanceParams& params) : power_of_two_(params.power_of_two) {}

  Needs needs() const override { return {.second_moment = true}; }

  MadeTransform make(const TransformSource& source) const override {
    const Stats& stats = source.stats;
    if (const auto why = unusable(stats, stats.second_moment_ii); !why.empty())
      return no_scaling(why);
    const at::Tensor h_i =
        stats.second_moment_ii.diagonal().cpu().clamp_min(0) / static_cast<double>(stats.tokens);
    const at::Tensor w_i = weight_squares(source.group);
    const at::Tensor alive_i = (h_i > 0) & (w_i > 0);
    const at::Tensor s_i =
        at::where(alive_i, (h_i / at::where(alive_i, w_i, at::ones_like(w_i))).pow(0.25),
                  at::zeros_like(h_i));
    return {.transform = named(divided_by(rounded(s_i, h_i.sqrt())), source.group.id)};
  }

 private:
  /// s divided by a common factor, and made what was asked for. `x_i` is the typical size of an
  /// input.
  at::Tensor rounded(const at::Tensor& s_i, const at::Tensor& x_i) const {
    const at::Tensor middle_i = centred(s_i);
    if (power_of_two_ == PowerOfTwo::none) return middle_i;
    const at::Tensor alive_i = s_i > 0, one_i = at::ones_like(s_i);
    if (!alive_i.any().item<bool>()) return one_i;
    if (power_of_two_ == PowerOfTwo::each)
      return at::where(alive_i, middle_i.log2().round().exp2(), one_i);
    // s = raw * 2^-k, k nearest to the middle, but no x / s below float16's normal numbers.
    const at::Tensor raw = s_i.masked_select(alive_i);
    const double middle = (raw / middle_i.masked_select(alive_i)).mean().item<double>();
    const double smallest = (x_i.masked_select(alive_i) / raw).log2().min().item<double>();
    const double k =
        std::max(std::round(std::log2(middle)), std::ceil(kSmallestNormalHalfLog2 - smallest));
    return at::where(alive_i, s_i * std::exp2(-k), one_i);
  }

  PowerOfTwo power_of_two_;
};

}  // namespace

void BalanceParams::visit(ParamVisitor& v) {
  const EnumNames names = {{"none", static_cast<int>(PowerOfTwo::none)},
                           {"common", static_cast<int>(PowerOfTwo::common)},
                           {"each", static_cast<int>(PowerOfTwo::each)}};
  v.field("power_of_two", power_of_two, names,
          "none; common: the common factor of the scales is one, such that typical inputs stay "
          "above 2^-14; each: every scale is one");
}

std::unique_ptr<const Transform> make_balance(const BalanceParams& params) {
  return std::make_unique<Balance>(params);
}

}  // namespace cupel::core
