// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: whether a weight goes up or down, and where its group's range ends, is learned.
// Formula: min tr((W - V) H (W - V)^T), v = s clamp(round(w / s + r)), by signs of the gradient.
// Source: "Optimize Weight Rounding via Signed Gradient Descent for the Quantization of LLMs".
// Cost: calibration; 200 products of each matrix with the second moment of its input.
// Differs: layer by layer under the second moment, all of the calibration text at once, where the
//   paper samples outputs of a block; each output keeps its own best step; ranges start from the
//   grid that `scale` chooses or from the extremes, whichever errs less, and may grow.
#include <ATen/TensorOperators.h>

#include <cmath>

#include "base/error.h"
#include "core/code.h"
#include "core/feedback.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "quant/integer_grid.h"
#include "quant/learned_rounding.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

struct SignRoundParams : core::QuantizerParams {
  int steps = 200;
  double rate = 0;
  double smallest_clip = 0.5, largest_clip = 1.5;
  core::ScaleRule scale = core::ScaleRule::mse;
  void visit(ParamVisitor& v) override {
    QuantizerParams::visit(v);
    v.field("steps", steps, "of signed gradient descent").in(1, 100000);
    v.field("rate", rate,
            "of the first step, in steps of the grid; falls to zero linearly; 0 is 1 / steps")
        .in(0, 1);
    v.field("smallest_clip", smallest_clip, "each end of a range may shrink to this share of it")
        .in(0.01, 1);
    v.field("largest_clip", largest_clip, "and grow to this one").in(1, 10);
    v.field("scale", scale, core::scale_rule_names(),
            "how the first grid is chosen: from extremes, or for the least error under the metric");
  }
};

/// Why nothing can be learned from these statistics; empty if it can.
std::string unusable(const core::Stats& stats) {
  if (stats.tokens <= 0) return "no calibration token reached it";
  if (!stats.finite()) return "the second moment of its input holds NaN or infinity";
  if (stats.second_moment_ii.diagonal().sum().item<double>() <= 0)
    return "its input was zero at every token";
  return {};
}

class SignRound : public core::Quantizer {
 public:
  using Parameters = SignRoundParams;
  explicit SignRound(const SignRoundParams& params)
      : schedule_{.steps = params.steps,
                  .rate = params.rate,
                  .smallest_clip = params.smallest_clip,
                  .largest_clip = params.largest_clip},
        layout_(integer_layout("sign-round", params.layout)),
        code_(core::make_code(layout_, params.scale)),
        minmax_(core::make_code(layout_, core::ScaleRule::minmax)),
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
    const std::string reason = unusable(stats);
    core::Metric metric;
    at::Tensor h_ii;
    if (reason.empty()) {
      h_ii = core::transform_second_moment(
          made.transform, stats.second_moment_ii.to(group.weights_oi.front().device()));
      h_ii = h_ii / static_cast<double>(stats.tokens);
      metric.weight = core::host_float(h_ii.diagonal()).clamp_min(0).contiguous();
    }
    auto results = core::round_group(
        group, {.code = *code_, .transform = made.transform, .metric = metric, .note = made.note});
    for (std::size_t m = 0; m < results.size(); ++m) {
      if (reason.empty())
        learn(core::transform_weight(made.transform, group.weights_oi[m]), h_ii, results[m]);
      else
        results[m].fallback = cat("plain rounding: ", reason);
    }
    core::add_fallback(results, made.fallback);
    return results;
  }

 private:
  void learn(const at::Tensor& w_oi, const at::Tensor& h_ii, core::MatrixResult& result) const {
    const format::WeightCode whole_range = core::encode(*minmax_, w_oi, {}, nullptr);
    const RoundingLoss loss = learn_rounding(w_oi, h_ii, schedule_, result.code, &whole_range);
    if (loss.before <= 0) return;
    const double share = std::round(1000 * loss.after / loss.before) / 1000;
    result.note += cat(result.note.empty() ? "" : ", ", share, " of the error of plain rounding");
  }

  RoundingSchedule schedule_;
  std::shared_ptr<const format::UniformLayout> layout_;
  std::unique_ptr<const core::Code> code_, minmax_;
  std::unique_ptr<const core::Transform> transform_;
};

}  // namespace

void add_sign_round(Registry<core::Quantizer>& registry) {
  registry.add<SignRound>("sign-round",
                          "learned rounding and clipping under the second moment of the input");
}

}  // namespace cupel::quant
