// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: every weight becomes the nearest value of its group's grid; no calibration text unless its
// transform wants some. Formula: w = s (clamp(round(w / s) + z) - z), s from the extremes or a
// search over clippings. Source: folklore; the search is that of "GPTQ" (--mse), unweighted. Cost:
// one pass over the weights, 100 for the search. Differs: scales are rounded to their stored type
// first.
#include "core/code.h"
#include "core/feedback.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

struct RtnParams : core::QuantizerParams {
  core::ScaleRule scale = core::ScaleRule::minmax;
  void visit(ParamVisitor& v) override {
    QuantizerParams::visit(v);
    v.field("scale", scale, core::scale_rule_names(),
            "extremes of the group, or the clipping of least squared error");
  }
};

class Rtn : public core::Quantizer {
 public:
  using Parameters = RtnParams;
  explicit Rtn(const RtnParams& params)
      : layout_(format::make_layout(params.layout)),
        code_(core::make_code(layout_, params.scale)),
        transform_(core::make_transform(params.transform)) {}

  core::Needs needs() const override { return transform_->needs(); }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle*, const Rng& rng) const override {
    const core::MadeTransform made = transform_->make(
        {.group = group,
         .stats = stats,
         .rng = rng,
         .loss = core::rounding_loss(group, stats, *code_, core::FitMetric::plain)});
    auto results =
        core::round_group(group, {.code = *code_, .transform = made.transform, .note = made.note});
    core::add_fallback(results, made.fallback);
    return results;
  }

 private:
  std::shared_ptr<const format::Layout> layout_;
  std::unique_ptr<const core::Code> code_;
  std::unique_ptr<const core::Transform> transform_;
};

}  // namespace

void add_rtn(Registry<core::Quantizer>& registry) {
  registry.add<Rtn>("rtn", "round to nearest, without calibration text");
}

}  // namespace cupel::quant
