// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: W = Q + L R + full rows; which rows and which rank is discrete, so anneal.
// Formula: E(O, r) = sum_{o not in O} || (W - Q(W - L R) - L R)_o ||_h^2 at a fixed number of
// bytes. Source: the weight-outlier seed (simulated annealing over quantized + low rank + sparse
// rows). Cost: a decomposition per 32 accepted exchanges of bytes, else constant time per move.
// Differs: with L R fixed the best rows are the worst ones, so a move that only swaps rows is
// judged
//   by cached errors, and `moves: 0` is the greedy alternation that annealing must beat.
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "core/code.h"
#include "core/codes/sum_code.h"
#include "core/feedback.h"
#include "core/metric.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

using format::SumLayout;
using format::SumParams;

struct AnnealedParams : core::QuantizerParams {
  int moves = 400;
  double cooling = 0.95;
  bool feedback = false;
  core::ScaleRule scale = core::ScaleRule::mse;
  Choice metric{core::metric_alternatives(), "activation"};
  AnnealedParams() { layout = Choice(format::layout_alternatives(), "sum"); }
  void visit(ParamVisitor& v) override {
    QuantizerParams::visit(v);
    v.field("moves", moves, "proposed changes; 0 is the greedy choice").in(0, 1e6);
    v.field("cooling", cooling, "factor of the temperature after each twentieth of the moves")
        .in(0.1, 1);
    v.field("feedback", feedback, "round the quantized part with error feedback");
    v.field("scale", scale, core::scale_rule_names(), "how scales are chosen");
    v.field("metric", metric, "what an error costs");
    v.check(layout.name == "sum", "layout must be sum");
  }
};

/// One decomposition: the rank, the full rows, and the error of each row if it is not kept.
struct State {
  int rank = 0;
  core::SumParts parts;
  std::vector<double> row_error;
  double energy = 0;
};

/// Finds the split of a byte budget between rank and rows.
class Annealer {
 public:
  Annealer(const SumLayout& layout, core::ScaleRule rule, const at::Tensor& w_oi,
           const core::Metric& metric)
      : settings_(layout.settings()), rule_(rule), w_oi_(w_oi), metric_(metric) {
    const int64_t rows = w_oi.size(0);
    bytes_ = bytes(settings_.rank, layout.full_rows(rows));
  }

  State run(int moves, double cooling, Rng rng) {
    State now = evaluated(settings_.rank);
    State best = now;
    std::vector<double> probes;
    double temperature = 0;
    for (int k = 0; k < moves; ++k) {
      State next = proposed(now, rng);
      const double change = next.energy - now.energy;
      if (static_cast<int>(probes.size()) < kProbes) {
        probes.push_back(std::fabs(change));
        auto middle = probes.begin() + static_cast<std::ptrdiff_t>(probes.size() / 2);
        std::nth_element(probes.begin(), middle, probes.end());
        temperature = *middle;
      } else if (k % std::max(1, moves / 20) == 0) {
        temperature *= cooling;
      }
      const bool accept =
          change <= 0 || rng.uniform() < std::exp(-change / std::max(temperature, 1e-300));
      if (!accept) continue;
      now = std::move(next);
      if (now.energy < best.energy) best = now;
    }
    return best;
  }

  /// The layout that holds a state.
  std::shared_ptr<const SumLayout> layout_of(const State& state) const {
    SumParams params = settings_;
    params.rank = state.rank;
    params.full_rows = static_cast<int64_t>(state.parts.rows.size());
    return std::make_shared<SumLayout>(params);
  }

 private:
  static constexpr int kProbes = 50;

  int64_t bytes(int rank, int64_t full_rows) const {
    return 2 * (rank * (w_oi_.size(0) + w_oi_.size(1)) + full_rows * w_oi_.size(1)) + 4 * full_rows;
  }
  int64_t rows_for(int rank) const {
    const int64_t left = bytes_ - bytes(rank, 0);
    return std::clamp<int64_t>(left / (2 * w_oi_.size(1) + 4), 0, w_oi_.size(0));
  }

  /// The state of a rank: low rank fitted without the worst rows, then the worst rows.
  State evaluated(int rank) {
    State s{.rank = rank, .parts = {}, .row_error = {}, .energy = 0};
    const int64_t keep = rows_for(rank);
    SumParams params = settings_;
    params.rank = rank;
    params.full_rows = keep;
    const core::SumCode code(std::make_shared<SumLayout>(params), rule_);
    at::Tensor quantized_oi = code.rounded(w_oi_, metric_);
    s.row_error = errors(w_oi_ - quantized_oi);
    s.parts.rows = worst(s.row_error, keep);
    for (int k = 0; rank > 0 && k < 2; ++k) {
      at::Tensor residual = w_oi_ - quantized_oi;
      for (const int32_t o : s.parts.rows) residual[o].zero_();
      code.fit_low_rank(residual, metric_, s.parts);
      const at::Tensor product = s.parts.product_oi();
      quantized_oi = code.rounded(w_oi_ - product, metric_);
      s.row_error = errors(w_oi_ - quantized_oi - product);
      s.parts.rows = worst(s.row_error, keep);
    }
    s.energy = energy(s);
    return s;
  }

  /// Either one full row for another, or a rank for the rows that its bytes buy.
  State proposed(const State& now, Rng& rng) {
    const bool trade = rng.uniform() < 0.1;
    if (trade) {
      const int rank = std::max(0, now.rank + (rng.uniform() < 0.5 ? -1 : 1));
      if (bytes(rank, 0) > bytes_ || rank > std::min(w_oi_.size(0), w_oi_.size(1))) return now;
      if (rank != now.rank) {
        auto found = known_.find(rank);
        if (found == known_.end()) found = known_.emplace(rank, evaluated(rank)).first;
        return found->second;
      }
    }
    if (now.parts.rows.empty() || now.parts.rows.size() == now.row_error.size()) return now;
    State next = now;
    const auto out = static_cast<std::size_t>(rng.below(next.parts.rows.size()));
    auto in = static_cast<int32_t>(rng.below(next.row_error.size()));
    if (std::ranges::find(next.parts.rows, in) != next.parts.rows.end()) return now;
    next.energy += next.row_error[static_cast<std::size_t>(next.parts.rows[out])] -
                   next.row_error[static_cast<std::size_t>(in)];
    next.parts.rows[out] = in;
    std::ranges::sort(next.parts.rows);
    return next;
  }

  std::vector<double> errors(const at::Tensor& e_oi) const {
    const at::Tensor h = metric_.weight.defined() ? metric_.weight : at::Tensor();
    at::Tensor squared = e_oi.to(at::kDouble).pow(2);
    if (h.defined()) squared = squared * h;
    const at::Tensor sum_o = squared.sum(1).contiguous();
    const double* first = sum_o.const_data_ptr<double>();
    return {first, first + sum_o.numel()};
  }
  static std::vector<int32_t> worst(const std::vector<double>& error, int64_t keep) {
    std::vector<int32_t> order(error.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
      return error[static_cast<std::size_t>(a)] > error[static_cast<std::size_t>(b)];
    });
    order.resize(static_cast<std::size_t>(keep));
    std::ranges::sort(order);
    return order;
  }
  static double energy(const State& s) {
    double sum = std::accumulate(s.row_error.begin(), s.row_error.end(), 0.0);
    for (const int32_t o : s.parts.rows) sum -= s.row_error[static_cast<std::size_t>(o)];
    return sum;
  }

  SumParams settings_;
  core::ScaleRule rule_;
  at::Tensor w_oi_;
  core::Metric metric_;
  int64_t bytes_ = 0;
  std::map<int, State> known_;
};

class Annealed : public core::Quantizer {
 public:
  using Parameters = AnnealedParams;
  explicit Annealed(const AnnealedParams& params)
      : params_(params),
        layout_(std::dynamic_pointer_cast<const SumLayout>(format::make_layout(params.layout))),
        code_(std::make_shared<core::SumCode>(layout_, params.scale)),
        transform_(core::make_transform(params.transform)),
        metric_(core::make_metric(params.metric)) {}

  core::Needs needs() const override { return metric_->needs() | transform_->needs(); }
  core::GradientNeeds gradient_needs() const override { return metric_->gradient_needs(); }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle*, const Rng& rng) const override {
    for (std::size_t m = 0; m < group.names.size(); ++m)
      core::check_finite(group.names[m], group.weights_oi[m]);
    const core::MadeTransform made = transform_->make(
        {.group = group,
         .stats = stats,
         .rng = rng,
         .loss = core::rounding_loss(group, stats, *code_, core::FitMetric::second_moment)});
    std::vector<core::MatrixResult> results;
    for (std::size_t m = 0; m < group.names.size(); ++m) {
      core::MatrixGroup one{.id = group.id,
                            .names = {group.names[m]},
                            .weights_oi = {group.weights_oi[m]},
                            .gradients = {group.gradient(m)}};
      const core::Metric metric = metric_
                                      ->prepare({.group = one,
                                                 .matrix = 0,
                                                 .stats = stats,
                                                 .transform = made.transform,
                                                 .with_feedback = false})
                                      .metric;
      const at::Tensor w_oi =
          core::host_float(core::transform_weight(made.transform, group.weights_oi[m]));
      Annealer annealer(*layout_, params_.scale, w_oi, metric);
      const State best =
          annealer.run(params_.moves, params_.cooling, Rng(rng).child(group.names[m]));
      const core::SumCode code(annealer.layout_of(best), params_.scale, best.parts, true);
      auto result = core::round_group(one, stats,
                                      {.code = code,
                                       .transform = made.transform,
                                       .metric = *metric_,
                                       .with_feedback = params_.feedback,
                                       .note = made.note});
      result.front().note += cat(result.front().note.empty() ? "" : ", ", "rank ", best.rank, ", ",
                                 best.parts.rows.size(), " full rows");
      results.push_back(std::move(result.front()));
    }
    core::add_fallback(results, made.fallback);
    return results;
  }

 private:
  AnnealedParams params_;
  std::shared_ptr<const SumLayout> layout_;
  std::shared_ptr<const core::SumCode> code_;
  std::unique_ptr<const core::Transform> transform_;
  std::unique_ptr<const core::MetricProvider> metric_;
};

}  // namespace

void add_annealed(Registry<core::Quantizer>& registry) {
  registry.add<Annealed>("annealed", "quantized + low rank + full rows, split by annealing");
}

}  // namespace cupel::quant
