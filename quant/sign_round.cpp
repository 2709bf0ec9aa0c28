// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: whether a weight goes up or down, and where its group's range ends, is learned.
// Formula: min tr((W - V) H (W - V)^T), v = s clamp(round(w / s + r)), by signs of the gradient.
// Source: "Optimize Weight Rounding via Signed Gradient Descent for the Quantization of LLMs".
// Cost: calibration; 200 products of each matrix with the second moment of its input; objective
//   `block`: and as many steps of `batch` samples forward and backward through the block.
// Differs: objective `layer` takes all of the calibration text at once, and each output keeps its
//   own best step; `block` begins anew from plain rounding, looks at all samples eight times, and
//   keeps the result of `layer` where that is better; its targets are what the original block makes
//   of the quantized model's states; ranges start from the grid that `scale` chooses
//   (of a layer: or from the extremes, whichever errs less) and may grow.
#include <ATen/TensorOperators.h>

#include <cmath>

#include "base/error.h"
#include "core/code.h"
#include "core/feedback.h"
#include "core/metric.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "quant/block_rounding.h"
#include "quant/integer_grid.h"
#include "quant/learned_rounding.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

/// What is minimised: errors of each matrix's output, or those of the block's.
enum class Objective { layer, block };

struct SignRoundParams : core::QuantizerParams {
  Objective objective = Objective::layer;
  int batch = 8;
  int steps = 200;
  double rate = 0;
  double smallest_clip = 0.5, largest_clip = 1.5;
  core::ScaleRule scale = core::ScaleRule::mse;
  void visit(ParamVisitor& v) override {
    QuantizerParams::visit(v);
    const EnumNames objectives = {{"layer", static_cast<int>(Objective::layer)},
                                  {"block", static_cast<int>(Objective::block)}};
    v.field("objective", objective, objectives,
            "errors of each matrix's output under the second moment, or of the block's output");
    v.field("batch", batch, "samples of a step, for the block's output").in(1, 1000000);
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

class SignRound : public core::Quantizer {
 public:
  using Parameters = SignRoundParams;
  explicit SignRound(const SignRoundParams& params)
      : params_(params),
        schedule_{.steps = params.steps,
                  .rate = params.rate,
                  .smallest_clip = params.smallest_clip,
                  .largest_clip = params.largest_clip},
        layout_(integer_layout("sign-round", params.layout)),
        code_(core::make_code(layout_, params.scale)),
        minmax_(core::make_code(layout_, core::ScaleRule::minmax)),
        transform_(core::make_transform(params.transform)),
        metric_(core::make_metric(Choice(core::metric_alternatives(), "activation"))) {}

  core::Needs needs() const override {
    return core::Needs{.second_moment = true, .block = params_.objective == Objective::block} |
           transform_->needs();
  }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle* block,
                                           const Rng& rng) const override {
    if (block) return whole(*block, rng);
    Start start = start_of(group, stats, rng);
    learn(start);
    return std::move(start.results);
  }

 private:
  /// A group rounded plainly, and what better rounding is to be learned from.
  struct Start {
    std::vector<core::MatrixResult> results;
    std::vector<at::Tensor> w_oi;  ///< in the basis of the codes
    at::Tensor h_ii;               ///< undefined: the statistics can't be used
  };

  Start start_of(const core::MatrixGroup& group, const core::Stats& stats, const Rng& rng) const {
    const core::MadeTransform made =
        core::transform_for(*transform_, group, stats, rng, *code_, core::FitMetric::second_moment);
    Start start;
    start.results = core::round_group(group, stats,
                                      {.code = *code_,
                                       .transform = made.transform,
                                       .metric = *metric_,
                                       .with_feedback = false,
                                       .note = made.note});
    // A fallback here means that the moment says nothing: there is nothing to learn from.
    if (start.results.front().fallback.empty())
      start.h_ii =
          core::transform_second_moment(
              made.transform, stats.second_moment_ii.to(group.weights_oi.front().device())) /
          static_cast<double>(stats.tokens);
    for (const at::Tensor& w_oi : group.weights_oi)
      start.w_oi.push_back(core::transform_weight(made.transform, w_oi));
    core::add_fallback(start.results, made.fallback);
    return start;
  }

  /// Matrix by matrix.
  void learn(Start& start) const {
    if (!start.h_ii.defined()) return;
    for (std::size_t m = 0; m < start.results.size(); ++m) {
      core::MatrixResult& result = start.results[m];
      const format::WeightCode whole_range = core::encode(*minmax_, start.w_oi[m], {}, nullptr);
      const RoundingLoss loss =
          learn_rounding(start.w_oi[m], start.h_ii, schedule_, result.code, &whole_range);
      if (loss.before > 0)
        core::add_note(result,
                       cat(share(loss.after, loss.before), " of the error of plain rounding"));
    }
  }

  /// All matrices of a block together.
  std::vector<core::MatrixResult> whole(const core::BlockHandle& block, const Rng& rng) const {
    std::vector<BlockMatrix> matrices;
    std::vector<core::MatrixResult> results;
    for (const auto& part : block.parts()) {
      Start start = start_of(part.group, part.stats, rng.child(part.group.id));
      for (std::size_t m = 0; m < start.results.size(); ++m)
        matrices.push_back({.w_oi = start.w_oi[m], .code = start.results[m].code});
      learn(start);
      for (core::MatrixResult& r : start.results) results.push_back(std::move(r));
    }
    for (std::size_t m = 0; m < results.size(); ++m) matrices[m].other = results[m].code;
    const BlockLoss loss =
        learn_block(block, schedule_, params_.batch, rng.child("batches"), matrices);
    for (std::size_t m = 0; m < results.size(); ++m) {
      results[m].code = std::move(matrices[m].code);
      if (loss.plain > 0)
        core::add_note(results[m], cat("block: ", share(loss.chosen, loss.plain),
                                       " (layer by layer ", share(loss.other, loss.plain), ")"));
    }
    return results;
  }

  static double share(double part, double whole) { return std::round(1000 * part / whole) / 1000; }

  SignRoundParams params_;
  RoundingSchedule schedule_;
  std::shared_ptr<const format::UniformLayout> layout_;
  std::unique_ptr<const core::Code> code_, minmax_;
  std::unique_ptr<const core::Transform> transform_;
  std::unique_ptr<const core::MetricProvider> metric_;
};

}  // namespace

void add_sign_round(Registry<core::Quantizer>& registry) {
  registry.add<SignRound>("sign-round",
                          "learned rounding and clipping under the second moment of the input");
}

}  // namespace cupel::quant
