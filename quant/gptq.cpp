// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: round input by input; those not yet rounded make up for the error (core/feedback.h).
// Formula: min tr((W - V) H (W - V)^T), greedily; H the damped second moment of the input.
// Source: "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers".
// Cost: calibration; n^3/6 multiplications per group, rows n^2/2 per matrix.
// Differs: scales come from the original weight, so activation order is free at run time; by
// default they are clipped for the least error under the metric; other metrics than H can be had.
#include "core/code.h"
#include "core/feedback.h"
#include "core/metric.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

struct GptqParams : core::QuantizerParams {
  core::FeedbackOrder order = core::FeedbackOrder::activation;
  double damp = 0.01;
  int block = 128;
  int passes = 0;
  core::ScaleRule scale = core::ScaleRule::mse;
  Choice metric{core::metric_alternatives(), "activation"};
  void visit(ParamVisitor& v) override {
    QuantizerParams::visit(v);
    v.field("order", order, core::feedback_order_names(),
            "inputs of most energy first, or as they lie; scales are the same");
    v.field("damp", damp,
            "share of the mean diagonal of H added to it; grows tenfold while H has no factor")
        .in(0, 1);
    v.field("block", block, "inputs between two updates of all that follow; a matter of speed")
        .in(1, 4096);
    v.field("passes", passes,
            "of coordinate descent after the feedback, under the moments of the inputs")
        .in(0, 20);
    v.field("scale", scale, core::scale_rule_names(),
            "how scales are chosen: from extremes, or for the least error under the metric");
    v.field("metric", metric, "what an error costs");
    v.check(metric.name != "none", "metric must not be none: use quant.rtn");
  }
};

class Gptq : public core::Quantizer {
 public:
  using Parameters = GptqParams;
  explicit Gptq(const GptqParams& params)
      : params_(params),
        layout_(format::make_layout(params.layout)),
        code_(core::make_code(layout_, params.scale)),
        transform_(core::make_transform(params.transform)),
        metric_(core::make_metric(params.metric)) {}

  core::Needs needs() const override { return metric_->needs() | transform_->needs(); }
  core::GradientNeeds gradient_needs() const override { return metric_->gradient_needs(); }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle*, const Rng& rng) const override {
    const core::MadeTransform made =
        core::transform_for(*transform_, group, stats, rng, *code_, core::FitMetric::second_moment);
    auto results = core::round_group(group, stats,
                                     {.code = *code_,
                                      .transform = made.transform,
                                      .metric = *metric_,
                                      .feedback = {.order = params_.order, .damp = params_.damp},
                                      .block = {params_.block},
                                      .passes = params_.passes,
                                      .note = made.note});
    core::add_fallback(results, made.fallback);
    return results;
  }

 private:
  GptqParams params_;
  std::shared_ptr<const format::Layout> layout_;
  std::unique_ptr<const core::Code> code_;
  std::unique_ptr<const core::Transform> transform_;
  std::unique_ptr<const core::MetricProvider> metric_;
};

}  // namespace

void add_gptq(Registry<core::Quantizer>& registry) {
  registry.add<Gptq>("gptq", "rounding with error feedback under the second moment of the input");
}

}  // namespace cupel::quant
