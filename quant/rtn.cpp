// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: every weight becomes the nearest value of its group's grid; no calibration text.
// Formula: w = s (clamp(round(w / s) + z) - z), s from the extremes or a search over clippings.
// Source: folklore; the search is that of "GPTQ" (--mse), unweighted.
// Cost: one pass over the weights, 100 for the search.
// Differs: scales are rounded to their stored type first.
#include "core/code.h"
#include "core/feedback.h"
#include "core/transform.h"
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
      : params_(params),
        layout_(format::make_layout(params.layout)),
        code_(core::make_code(layout_, params.scale)) {}

  core::Needs needs() const override { return {}; }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats&,
                                           core::BlockHandle*, const Rng& rng) const override {
    const int64_t inputs = core::inputs_of(group);
    const auto transform = core::make_transform(params_.transform, group.id, inputs, rng);
    return core::round_group(group,
                             {.code = *code_,
                              .transform = transform,
                              .note = core::transform_note(params_.transform, transform, inputs)});
  }

 private:
  RtnParams params_;
  std::shared_ptr<const format::Layout> layout_;
  std::unique_ptr<const core::Code> code_;
};

}  // namespace

void add_rtn(Registry<core::Quantizer>& registry) {
  registry.add<Rtn>("rtn", "round to nearest, without calibration text");
}

}  // namespace cupel::quant
