// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: large inputs are divided by a factor that their weights are multiplied with.
// Formula: s_i = max|x_i|^alpha / max|w_i|^(1 - alpha), x' = x / s, W' = W diag(s).
// Source: "SmoothQuant: Accurate and Efficient Post-Training Quantization for LLMs".
// Cost: one pass over the weights; a multiplication per input at run time.
// Differs: 1/s is stored beside the matrix, so norms and neighbours stay as they are: exact for
// every architecture and for all matrices; dead inputs keep s = 1.
#include <ATen/TensorOperators.h>

#include "core/transforms/list.h"
#include "core/transforms/scaling.h"

namespace cupel::core {
namespace {

// Smaller maxima count as this one, or a quiet input would be blown up without bound.
constexpr double kFloor = 1e-5;

class Smooth : public Transform {
 public:
  explicit Smooth(const SmoothParams& params) : alpha_(params.alpha) {}

  Needs needs() const override { return {.absmax = true}; }

  MadeTransform make(const TransformSource& source) const override {
    at::Tensor x_i = source.stats.absmax_i;
    if (const auto why = unusable(source.stats, x_i); !why.empty()) return no_scaling(why);
    x_i = x_i.cpu();
    const at::Tensor w_i = weight_absmax(source.group);
    const at::Tensor alive_i = ((x_i > 0) & (w_i > 0)).to(at::kDouble);
    const at::Tensor s_i =
        x_i.clamp_min(kFloor).pow(alpha_) / w_i.clamp_min(kFloor).pow(1 - alpha_);
    return {.transform = named(divided_by(centred(s_i * alive_i)), source.group.id)};
  }

 private:
  double alpha_;
};

}  // namespace

void SmoothParams::visit(ParamVisitor& v) {
  v.field("alpha", alpha, "how much of the inputs' unevenness moves into the weights").in(0, 1);
}

std::unique_ptr<const Transform> make_smooth(const SmoothParams& params) {
  return std::make_unique<Smooth>(params);
}

}  // namespace cupel::core
