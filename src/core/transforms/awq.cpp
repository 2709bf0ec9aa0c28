// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: weights of inputs that are large on average get finer steps; how much finer is searched.
// Formula: s_i = mean|x_i|^r / u_i^(1 - r), u = 1, mean|w_i| or max|w_i|; r of least loss
//   tr((W' - V') H' (W' - V')^T), V' = W' rounded plainly.
// Source: "AWQ: Activation-aware Weight Quantization for LLM Compression and Acceleration".
// Cost: steps + 1 plain roundings of the group, each with an [o, i] x [i, i] product.
// Differs: the loss is that of the group's own outputs under the second moment, with the method's
// own code; 1/s is stored beside the matrix, so no neighbour changes; identity always competes.
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "core/transforms/list.h"
#include "core/transforms/scaling.h"

namespace cupel::core {
namespace {

// What a mean |w| of zero counts as.
constexpr double kSmallestWeight = 1e-4;

class Awq : public Transform {
 public:
  explicit Awq(const AwqParams& params) : params_(params) {}

  Needs needs() const override { return {.second_moment = true, .abs_sum = true}; }

  MadeTransform make(const TransformSource& source) const override {
    const Stats& stats = source.stats;
    if (const auto why = unusable(stats, stats.abs_sum_i); !why.empty()) return no_scaling(why);
    if (const auto why = unusable(stats, stats.second_moment_ii); !why.empty())
      return no_scaling(why);
    const at::Tensor x_i = stats.abs_sum_i.cpu() / static_cast<double>(stats.tokens);
    const at::Tensor w_i = weight_sizes(source.group);
    format::InputTransform best;
    double least = source.loss(best);
    MadeTransform made{.note = "awq kept the inputs as they are"};
    for (int k = 0; k <= params_.steps; ++k) {
      const double r = static_cast<double>(k) / params_.steps;
      auto candidate = divided_by(centred(scale(x_i, w_i, r)));
      const double loss = source.loss(candidate);
      if (!(loss < least)) continue;
      least = loss;
      best = std::move(candidate);
      made.note = cat("awq exponent ", fixed(r, 2));
    }
    made.transform = named(std::move(best), source.group.id);
    return made;
  }

 private:
  at::Tensor weight_sizes(const MatrixGroup& group) const {
    if (params_.duo == AwqDuo::mean) return weight_abs_mean(group);
    return params_.duo == AwqDuo::max ? weight_absmax(group) : at::Tensor();
  }

  static at::Tensor scale(const at::Tensor& x_i, const at::Tensor& w_i, double r) {
    const at::Tensor alive_i = (x_i > 0).to(at::kDouble);
    const at::Tensor s_i = x_i.pow(r) * alive_i;
    return w_i.defined() ? s_i / w_i.clamp_min(kSmallestWeight).pow(1 - r) : s_i;
  }

  AwqParams params_;
};

}  // namespace

void AwqParams::visit(ParamVisitor& v) {
  const EnumNames duos = {{"none", static_cast<int>(AwqDuo::none)},
                          {"mean", static_cast<int>(AwqDuo::mean)},
                          {"max", static_cast<int>(AwqDuo::max)}};
  v.field("steps", steps,
          "steps from exponent 0 to 1; each end is tried too, and every try rounds every matrix")
      .in(1, 1000);
  v.field("duo", duo, duos, "sizes of the weights that a scale is divided by");
}

std::unique_ptr<const Transform> make_awq(const AwqParams& params) {
  return std::make_unique<Awq>(params);
}

}  // namespace cupel::core
