// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: W = Q + L R + full rows; how many ranks and which rows is discrete, so anneal.
// Formula: min sum over rows not kept of ||(W - Q(W - L R) - L R)_o||_h^2 at a fixed size.
// Source: the weight-outlier seed (simulated annealing over quantized + low rank + sparse rows).
// Cost: three roundings and two decompositions for each rank that is visited; swaps are cheap.
// Differs: at a given rank the best rows are the worst ones, where each rank starts: annealing
// gains by trading ranks for rows. `moves: 0` is that start at the recipe's rank, which it must
// beat.
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

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
  int64_t full_rows() const { return static_cast<int64_t>(parts.rows.size()); }
};

/// Finds the split of a byte budget between rank and rows.
class Annealer {
 public:
  Annealer(const SumLayout& layout, core::ScaleRule rule, const at::Tensor& w_oi,
           const core::Metric& metric)
      : settings_(layout.settings()), rule_(rule), w_oi_(w_oi), metric_(metric) {
    bits_ = layout.bits(w_oi.size(0), w_oi.size(1));
  }

  State run(int moves, double cooling, Rng rng) {
    State now = evaluated(settings_.rank);
    State best = now;
    std::vector<double> probes;
    double temperature = 0;
    for (int k = 0; k < moves; ++k) {
      std::optional<State> next = proposed(now, rng);
      if (!next) continue;
      const double change = next->energy - now.energy;
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
      now = std::move(*next);
      if (now.energy < best.energy) best = now;
    }
    return best;
  }

  std::shared_ptr<const SumLayout> layout_of(int rank, int64_t full_rows) const {
    SumParams params = settings_;
    params.rank = rank;
    params.full_rows = full_rows;
    return std::make_shared<SumLayout>(params);
  }

 private:
  static constexpr int kProbes = 50;

  int64_t bits(int rank, int64_t full_rows) const {
    return layout_of(rank, full_rows)->bits(w_oi_.size(0), w_oi_.size(1));
  }
  /// Full rows that fit beside a rank; negative if the rank alone is too large.
  int64_t rows_for(int rank) const {
    const int64_t left = bits_ - bits(rank, 0), row = bits(0, 1) - bits(0, 0);
    return left < 0 ? -1 : std::min(left / row, w_oi_.size(0));
  }

  /// The state of a rank: low rank fitted without the worst rows, then the worst rows.
  State evaluated(int rank) {
    State s{.rank = rank, .parts = {}, .row_error = {}, .energy = 0};
    const int64_t keep = rows_for(rank);
    const core::SumCode code(layout_of(rank, keep), rule_);
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

  /// Either one full row for another, or a rank for the rows that its bytes buy; nothing if the
  /// draw has no such move.
  std::optional<State> proposed(const State& now, Rng& rng) {
    if (rng.uniform() < 0.1) {
      const int rank = now.rank + (rng.uniform() < 0.5 ? -1 : 1);
      if (rank < 0 || rank > std::min(w_oi_.size(0), w_oi_.size(1)) || rows_for(rank) < 0)
        return std::nullopt;
      auto found = known_.find(rank);
      if (found == known_.end()) found = known_.emplace(rank, evaluated(rank)).first;
      return found->second;
    }
    if (now.parts.rows.empty() || now.parts.rows.size() == now.row_error.size())
      return std::nullopt;
    State next = now;
    const auto out = static_cast<std::size_t>(rng.below(next.parts.rows.size()));
    auto in = static_cast<int32_t>(rng.below(next.row_error.size()));
    if (std::ranges::find(next.parts.rows, in) != next.parts.rows.end()) return std::nullopt;
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
  int64_t bits_ = 0;
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
    core::check_finite(group);
    const core::MadeTransform made =
        core::transform_for(*transform_, group, stats, rng, *code_, core::FitMetric::second_moment);
    const core::MetricRounding rounding{.code = *code_,
                                        .transform = made.transform,
                                        .metric = *metric_,
                                        .with_feedback = params_.feedback,
                                        .note = made.note};
    core::GroupMetric metric(group, stats, rounding);
    std::vector<core::MatrixResult> results;
    for (std::size_t m = 0; m < group.names.size(); ++m) {
      const core::PreparedMetric& prepared = metric.of(m);
      Annealer annealer(
          *layout_, params_.scale,
          core::host_float(core::transform_weight(made.transform, group.weights_oi[m])),
          prepared.metric);
      const State best =
          annealer.run(params_.moves, params_.cooling, Rng(rng).child(group.names[m]));
      const core::SumCode code(annealer.layout_of(best.rank, best.full_rows()), params_.scale,
                               best.parts, true);
      results.push_back(core::round_matrix(group.names[m], group.weights_oi[m], prepared,
                                           core::with_code(rounding, code)));
      core::add_note(results.back(), cat("rank ", best.rank, ", ", best.full_rows(), " full rows"));
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
