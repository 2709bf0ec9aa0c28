// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: every weight becomes the nearest value of its grid; without calibration text by default.
// Formula: w = s g(w / s), g the nearest level, s from the extremes or a search.
// Source: folklore; with metric `activation` it is what llama.cpp does with an importance matrix.
// Cost: one pass over the weights, about 50 with a search.
// Differs: scales are rounded to their stored type first.
#include "core/code.h"
#include "core/feedback.h"
#include "core/metric.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

struct RtnParams : core::QuantizerParams {
  core::ScaleRule scale = core::ScaleRule::minmax;
  Choice metric{core::metric_alternatives(), "none"};
  void visit(ParamVisitor& v) override {
    QuantizerParams::visit(v);
    v.field("scale", scale, core::scale_rule_names(),
            "how scales are chosen: from extremes, or for the least error under the metric");
    v.field("metric", metric, "what an error costs");
  }
};

class Rtn : public core::Quantizer {
 public:
  using Parameters = RtnParams;
  explicit Rtn(const RtnParams& params)
      : layout_(format::make_layout(params.layout)),
        code_(core::make_code(layout_, params.scale)),
        transform_(core::make_transform(params.transform)),
        metric_(core::make_metric(params.metric)) {}

  core::Needs needs() const override { return metric_->needs() | transform_->needs(); }
  core::GradientNeeds gradient_needs() const override { return metric_->gradient_needs(); }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle*, const Rng& rng) const override {
    const core::MadeTransform made =
        core::transform_for(*transform_, group, stats, rng, *code_, core::FitMetric::plain);
    auto results = core::round_group(group, stats,
                                     {.code = *code_,
                                      .transform = made.transform,
                                      .metric = *metric_,
                                      .with_feedback = false,
                                      .note = made.note});
    core::add_fallback(results, made.fallback);
    return results;
  }

 private:
  std::shared_ptr<const format::Layout> layout_;
  std::unique_ptr<const core::Code> code_;
  std::unique_ptr<const core::Transform> transform_;
  std::unique_ptr<const core::MetricProvider> metric_;
};

}  // namespace

void add_rtn(Registry<core::Quantizer>& registry) {
  registry.add<Rtn>("rtn", "round to nearest");
}

}  // namespace cupel::quant
