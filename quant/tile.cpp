// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: precision inside a matrix, in units that memory likes: tiles, row stripes, channel groups.
// Formula: min sum_T S_T(part) within the mean of bits; S_T = sum of h_ij dw_ij^2 over the tile.
// Source: the TileQuant seed (h from activations or gradients) and the FIGFLEX seed (h_j from D in
// H = F D F^T, what feedback cannot make up for; channel groups).
// Cost: one rounding of the matrix per layout, a dynamic programme over its tiles.
// Differs: any layouts may be mixed; the choice is exact for the scores, not a sort.
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "base/error.h"
#include "core/allocator.h"
#include "core/code.h"
#include "core/codes/mixed_code.h"
#include "core/feedback.h"
#include "core/metric.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

using format::MixedLayout;

enum class TileScore { metric, residual, random };

struct TileParams : core::QuantizerParams {
  double bits = 6;
  bool feedback = true;
  TileScore score = TileScore::residual;
  core::FeedbackOrder order = core::FeedbackOrder::activation;
  double damp = 0.01;
  core::ScaleRule scale = core::ScaleRule::mse;
  Choice metric{core::metric_alternatives(), "activation"};
  TileParams() { layout = Choice(format::layout_alternatives(), "mixed"); }
  void visit(ParamVisitor& v) override {
    QuantizerParams::visit(v);
    const EnumNames scores = {{"metric", static_cast<int>(TileScore::metric)},
                              {"residual", static_cast<int>(TileScore::residual)},
                              {"random", static_cast<int>(TileScore::random)}};
    v.field("bits", bits, "the average of each matrix, scales and map included").in(1, 16);
    v.field("score", score, scores,
            "what an error costs where tiles compete: by the metric; what is left of it after "
            "feedback; nothing at all, for comparison");
    v.field("feedback", feedback, "errors of earlier inputs are fed into later ones");
    v.field("order", order, core::feedback_order_names(),
            "inputs of most energy first, or as they lie");
    v.field("damp", damp, "share of the mean diagonal of H added to it").in(0, 1);
    v.field("scale", scale, core::scale_rule_names(), "how scales are chosen");
    v.field("metric", metric, "what an error costs");
    v.check(layout.name == "mixed", "layout must be mixed");
    v.check(metric.name != "none", "metric must not be none: the score of a tile is made from it");
  }
};

/// Bytes of one tile in each part: planes of a part grow with its tiles.
int64_t tile_bytes(const format::Layout& part, int64_t rows, int64_t cols) {
  constexpr int64_t kMany = 64;  // what a part stores once does not count against one tile
  return (part.bits(2 * kMany * rows, cols) - part.bits(kMany * rows, cols)) / (8 * kMany);
}

class Tile : public core::Quantizer {
 public:
  using Parameters = TileParams;
  explicit Tile(const TileParams& params)
      : params_(params),
        layout_(std::dynamic_pointer_cast<const MixedLayout>(format::make_layout(params.layout))),
        code_(std::make_shared<core::MixedCode>(layout_, params.scale)),
        transform_(core::make_transform(params.transform)),
        metric_(core::make_metric(params.metric)) {}

  core::Needs needs() const override { return metric_->needs() | transform_->needs(); }
  core::GradientNeeds gradient_needs() const override { return metric_->gradient_needs(); }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }
  int64_t expected_bits(int64_t rows, int64_t cols) const override {
    return static_cast<int64_t>(params_.bits * static_cast<double>(rows * cols));
  }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle*, const Rng& rng) const override {
    core::check_finite(group);
    const core::MadeTransform made =
        core::transform_for(*transform_, group, stats, rng, *code_, core::FitMetric::second_moment);
    const core::MetricRounding rounding{.code = *code_,
                                        .transform = made.transform,
                                        .metric = *metric_,
                                        .feedback = {.order = params_.order, .damp = params_.damp},
                                        .with_feedback = params_.feedback,
                                        .note = made.note};
    core::GroupMetric metric(group, stats, rounding);
    std::vector<core::MatrixResult> results;
    for (std::size_t m = 0; m < group.names.size(); ++m) {
      const core::PreparedMetric& prepared = metric.of(m);
      const auto map = choose(core::transform_weight(made.transform, group.weights_oi[m]),
                              prepared.metric, Rng(rng).child(group.names[m]));
      const core::MixedCode code(layout_, params_.scale, map.tiles);
      results.push_back(core::round_matrix(group.names[m], group.weights_oi[m], prepared,
                                           core::with_code(rounding, code)));
      core::add_note(results.back(), map.note);
    }
    core::add_fallback(results, made.fallback);
    return results;
  }

 private:
  struct Map {
    core::TileMap tiles;
    std::string note;
  };

  Map choose(const at::Tensor& w, core::Metric metric, Rng rng) const {
    const at::Tensor w_oi = core::host_float(w);
    if (params_.score != TileScore::residual) metric.tile_i = at::Tensor();
    const at::Tensor errors = code_->tile_errors(w_oi, metric);
    const int64_t tiles = errors.size(1), rows = layout_->tile_rows(w_oi.size(0));
    const int64_t cols = layout_->tile_cols(w_oi.size(1));
    std::vector<core::Ladder> ladders(static_cast<std::size_t>(tiles));
    std::vector<int64_t> bytes;
    for (const auto& part : layout_->parts()) bytes.push_back(tile_bytes(*part, rows, cols) + 1);
    for (int64_t t = 0; t < tiles; ++t)
      for (std::size_t p = 0; p < bytes.size(); ++p) {
        const double error = errors[static_cast<int64_t>(p)].const_data_ptr<double>()[t];
        const double random = rng.uniform() / static_cast<double>(p + 1);
        ladders[static_cast<std::size_t>(t)].rungs.push_back(
            {bytes[p], params_.score == TileScore::random ? random : error});
      }
    const auto budget = static_cast<int64_t>(params_.bits / 8 * static_cast<double>(w_oi.numel()));
    int64_t least = 0;
    for (const core::Ladder& l : ladders)
      least += std::ranges::min(l.rungs, {}, &core::Rung::bytes).bytes;
    const core::Allocation chosen = core::allocate(ladders, std::max(budget, least));
    Map map;
    if (least > budget)
      map.note =
          cat("more than ", params_.bits, " bits: its smallest layouts take ",
              fixed(8.0 * static_cast<double>(least) / static_cast<double>(w_oi.numel()), 2), ", ");
    std::vector<int64_t> counts(bytes.size());
    for (const int r : chosen.rungs) {
      map.tiles.push_back(static_cast<uint8_t>(r));
      ++counts[static_cast<std::size_t>(r)];
    }
    for (std::size_t p = 0; p < counts.size(); ++p)
      map.note += cat(p == 0 ? "" : ", ", counts[p], " tiles ", layout_->parts()[p]->description());
    return map;
  }

  TileParams params_;
  std::shared_ptr<const MixedLayout> layout_;
  std::shared_ptr<const core::MixedCode> code_;
  std::unique_ptr<const core::Transform> transform_;
  std::unique_ptr<const core::MetricProvider> metric_;
};

}  // namespace

void add_tile(Registry<core::Quantizer>& registry) {
  registry.add<Tile>("tile", "precision by tile, stripe or channel group inside each matrix");
}

}  // namespace cupel::quant
