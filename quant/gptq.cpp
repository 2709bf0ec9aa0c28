// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: round input by input; those not yet rounded make up for the error (core/feedback.h).
// Formula: min tr((W - V) H (W - V)^T), greedily; H the damped second moment of the input.
// Source: "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers".
// Cost: calibration; n^3/6 multiplications per group, rows n^2/2 per matrix.
// Differs: scales come from the original weight, so activation order is free at run time; by
// default they are clipped for the least squared error, weighted by the diagonal of H.
#include <ATen/TensorOperators.h>

#include "core/code.h"
#include "core/feedback.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

struct GptqParams : core::QuantizerParams {
  core::FeedbackOrder order = core::FeedbackOrder::activation;
  double damp = 0.01;
  int block = 128;
  core::ScaleRule scale = core::ScaleRule::mse;
  void visit(ParamVisitor& v) override {
    QuantizerParams::visit(v);
    const EnumNames orders = {{"activation", static_cast<int>(core::FeedbackOrder::activation)},
                              {"natural", static_cast<int>(core::FeedbackOrder::natural)}};
    v.field("order", order, orders,
            "inputs of most energy first, or as they lie; scales are the same");
    v.field("damp", damp,
            "share of the mean diagonal of H added to it; grows tenfold while H has no factor")
        .in(0, 1);
    v.field("block", block, "inputs between two updates of all that follow; a matter of speed")
        .in(1, 4096);
    v.field("scale", scale, core::scale_rule_names(),
            "extremes of the group, or the clipping of least squared error weighted by the "
            "diagonal of H");
  }
};

class Gptq : public core::Quantizer {
 public:
  using Parameters = GptqParams;
  explicit Gptq(const GptqParams& params)
      : params_(params),
        layout_(format::make_layout(params.layout)),
        code_(core::make_code(layout_, params.scale)),
        transform_(core::make_transform(params.transform)) {}

  core::Needs needs() const override {
    return core::Needs{.second_moment = true} | transform_->needs();
  }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle*, const Rng& rng) const override {
    const core::MadeTransform made = transform_->make(
        {.group = group,
         .stats = stats,
         .rng = rng,
         .loss = core::rounding_loss(group, stats, *code_, core::FitMetric::second_moment)});
    const at::Tensor h_ii = moment(group, stats, made.transform);
    const core::Factor factor = core::factorise(h_ii, stats.tokens, code_->tile().cols,
                                                {.order = params_.order, .damp = params_.damp});
    core::Metric metric;
    if (factor.usable())
      metric.weight =
          core::host_float(h_ii.diagonal() / static_cast<double>(stats.tokens)).clamp_min(0);
    auto results = core::round_group(group, {.code = *code_,
                                             .transform = made.transform,
                                             .metric = metric,
                                             .factor = &factor,
                                             .block = {params_.block},
                                             .note = note(factor, made.note)});
    core::add_fallback(results, made.fallback);
    return results;
  }

 private:
  /// H in the basis in which the weight is rounded, on its device; undefined when no token was
  /// seen.
  static at::Tensor moment(const core::MatrixGroup& group, const core::Stats& stats,
                           const format::InputTransform& transform) {
    if (stats.tokens <= 0) return {};
    return core::transform_second_moment(
        transform, stats.second_moment_ii.to(group.weights_oi.front().device()));
  }

  static std::string note(const core::Factor& factor, const std::string& of_transform) {
    std::string text = factor.usable() ? cat("damping ", factor.damp) : "";
    if (factor.usable() && factor.dead > 0) text += cat(", ", factor.dead, " inputs always zero");
    if (!text.empty() && !of_transform.empty()) text += ", ";
    return text + of_transform;
  }

  GptqParams params_;
  std::shared_ptr<const format::Layout> layout_;
  std::unique_ptr<const core::Code> code_;
  std::unique_ptr<const core::Transform> transform_;
};

}  // namespace

void add_gptq(Registry<core::Quantizer>& registry) {
  registry.add<Gptq>("gptq", "rounding with error feedback under the second moment of the input");
}

}  // namespace cupel::quant
