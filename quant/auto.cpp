// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: bits where the loss feels them: measure each matrix at every layout, solve for the mix.
// Formula: min sum_m c_m(l_m) s.t. sum_m bytes_m(l_m) <= budget; c_m by the chosen score; with
// cross-layer also sum_{m<n} r_mn sqrt(c_m c_n) (core/cross_layer.h).
// Source: HAWQ, AutoScheme, HIGGS' linearity; first-order score after the spike-aware paper,
// cross-layer after the Kronecker approximation of the Fisher information across layers.
// Cost: every layout of every matrix is rounded once more and kept, two bytes a weight and layout;
// `measured` runs the model once a matrix, each of `rounds` twice.
// Differs: costs are corrected by divergences around the mix; the mix is used only if it diverges
// less on held-out text than the best single layout.
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "core/allocator.h"
#include "core/code.h"
#include "core/cross_layer.h"
#include "core/feedback.h"
#include "core/metric.h"
#include "core/planner.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "format/layouts/uniform.h"
#include "quant/cross_layer_plan.h"
#include "quant/methods.h"
#include "quant/mix.h"

namespace cupel::quant {
namespace {

using Json = nlohmann::json;

enum class Score { output, measured, fisher, first_order, two_sided, cross_layer };
enum class Unit { matrix, group };

struct LayoutOption : Params {
  Choice layout{format::layout_alternatives(), "uniform"};
  void visit(ParamVisitor& v) override { v.field("layout", layout, "one that matrices may get"); }
};

struct AutoParams : core::QuantizerParams {
  double bits = 4;
  std::vector<LayoutOption> options;
  Score score = Score::measured;
  Unit unit = Unit::matrix;
  core::FeedbackOrder order = core::FeedbackOrder::activation;
  double damp = 0.01;
  int passes = 0;
  int rounds = 1;
  int sketch = 64;
  bool guard = true;
  core::ScaleRule scale = core::ScaleRule::mse;
  Choice metric{core::metric_alternatives(), "activation"};

  AutoParams() {
    for (int width = 2; width <= 6; ++width) {
      auto uniform = std::make_shared<format::UniformParams>();
      uniform->bits = width;
      options.emplace_back().layout.params = uniform;
    }
  }
  void visit(ParamVisitor& v) override {
    const EnumNames scores = {{"output", static_cast<int>(Score::output)},
                              {"measured", static_cast<int>(Score::measured)},
                              {"fisher", static_cast<int>(Score::fisher)},
                              {"first-order", static_cast<int>(Score::first_order)},
                              {"two-sided", static_cast<int>(Score::two_sided)},
                              {"cross-layer", static_cast<int>(Score::cross_layer)}};
    v.field(
        "layers", layers,
        "globs over names of decoder matrices, with commas between them; embedding and head only "
        "when named in full");
    v.field("bits", bits, "the average over the matrices of this step, scales included").in(1, 16);
    list_field(v, "options", options, "the layouts that a matrix may get");
    v.field(
        "score", score, scores,
        "what an error of a matrix costs: its share of the output's energy; that times the "
        "divergence measured with this matrix alone rounded; the Fisher information of its "
        "weights; their gradient's size; the moments of both sides; those, and what errors of two "
        "matrices do together");
    v.field("sketch", sketch,
            "signed sums of tokens that score cross-layer keeps of each side of a matrix: what "
            "two matrices do together is known to 1 / sketch of what they do apart at best")
        .in(8, 256);
    v.field(
        "unit", unit,
        {{"matrix", static_cast<int>(Unit::matrix)}, {"group", static_cast<int>(Unit::group)}},
        "what gets a layout of its own; group: matrices that share their input (q/k/v, gate/up) "
        "get the same, as engines with fused kernels need it");
    v.field(
         "rounds", rounds,
         "times that divergences are measured around the best mix so far (each matrix one layout "
         "finer and coarser) and the mix is solved anew")
        .in(0, 8);
    v.field("transform", transform, "change of basis of the inputs before rounding");
    v.field("activations", activations,
            "how the inputs of the multiplication are rounded at run time, after the transform");
    v.field("order", order, core::feedback_order_names(),
            "inputs of most energy first, or as they lie");
    v.field("damp", damp, "share of the mean diagonal of H added to it").in(0, 1);
    v.field("passes", passes,
            "of coordinate descent after the feedback, under the moments of the inputs")
        .in(0, 20);
    v.field("scale", scale, core::scale_rule_names(), "how scales are chosen");
    v.field("metric", metric, "what an error costs inside a matrix");
    v.field("guard", guard, "use the mix only if it beats the best single layout on held-out text");
    v.check(!options.empty() && options.size() <= 32, "options must hold 1 to 32 layouts");
    v.check(metric.name != "none", "metric must not be none");
  }
};

/// One layout that matrices may get.
struct Option {
  std::shared_ptr<const format::Layout> layout;
  std::shared_ptr<const core::Code> code;
};

class Auto : public core::Quantizer {
 public:
  using Parameters = AutoParams;
  explicit Auto(const AutoParams& params)
      : params_(params),
        transform_(core::make_transform(params.transform)),
        metric_(core::make_metric(params.metric)) {
    for (const LayoutOption& o : params.options) {
      auto layout = format::make_layout(o.layout);
      options_.push_back({layout, core::make_code(layout, params.scale)});
      CUPEL_CHECK(options_.back().code->tile().cols == options_.front().code->tile().cols, user,
                  "quant.auto: the options ", options_.front().layout->description(), " and ",
                  layout->description(), " round different numbers of inputs at once");
      if (away(o) < away(params.options[nearest_])) nearest_ = options_.size() - 1;
    }
  }

  core::Needs needs() const override { return metric_->needs() | transform_->needs(); }
  core::GradientNeeds gradient_needs() const override {
    core::GradientNeeds needs = metric_->gradient_needs();
    needs.fisher |= params_.score == Score::fisher || params_.score == Score::first_order;
    needs.output_moment |= params_.score == Score::two_sided || params_.score == Score::cross_layer;
    if (params_.score == Score::cross_layer) needs.sketch = params_.sketch;
    return needs;
  }
  std::shared_ptr<const format::Layout> layout() const override { return options_.front().layout; }
  std::string description() const override {
    return cat(params_.bits, " bits of ", options_.size(), " layouts");
  }
  int64_t expected_bits(int64_t rows, int64_t cols) const override {
    return static_cast<int64_t>(params_.bits * static_cast<double>(rows * cols));
  }
  std::unique_ptr<core::Planner> planner(const Rng& rng) const override;

  std::shared_ptr<const core::Quantizer> planned(const std::string& plan) const override {
    auto copy = std::make_shared<Auto>(params_);
    const Json json = Json::parse(plan, nullptr, false);
    CUPEL_CHECK(json.is_object() && json.contains("matrices"), data,
                "this is no plan of quant.auto");
    for (const auto& [name, option] : json.at("matrices").items()) copy->plan_[name] = option;
    return copy;
  }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle*, const Rng& rng) const override {
    std::vector<core::MatrixResult> results;
    const auto made = transform_of(group, stats, rng);
    Rounder rounder(*this, group, stats, made);
    for (std::size_t m = 0; m < group.names.size(); ++m) {
      const auto found = plan_.find(group.names[m]);
      CUPEL_CHECK(found != plan_.end(), internal, group.names[m],
                  " is not in the plan of quant.auto");
      const Option& option = options_.at(found->second);
      results.push_back(rounder.round(m, option));
      core::add_note(results.back(), option.layout->description());
    }
    core::add_fallback(results, made.fallback);
    return results;
  }

  /// One transform for all matrices of a group, whatever layouts they get: it is made for the code
  /// that comes nearest to the budget.
  core::MadeTransform transform_of(const core::MatrixGroup& group, const core::Stats& stats,
                                   const Rng& rng) const {
    return core::transform_for(*transform_, group, stats, rng, *options_[nearest_].code,
                               core::FitMetric::second_moment);
  }

  /// Rounds the matrices of a group with one option or another, all from one preparation.
  class Rounder {
   public:
    Rounder(const Auto& method, const core::MatrixGroup& group, const core::Stats& stats,
            const core::MadeTransform& made)
        : group_(group),
          rounding_{.code = *method.options_.front().code,
                    .transform = made.transform,
                    .metric = *method.metric_,
                    .feedback = {.order = method.params_.order, .damp = method.params_.damp},
                    .passes = method.params_.passes,
                    .note = made.note},
          metric_(group, stats, rounding_) {
      core::inputs_of(group);
      core::check_finite(group);
    }
    /// Options of one matrix after the other: its target is made once.
    core::MatrixResult round(std::size_t m, const Option& option) {
      if (!target_oi_.defined() || m != matrix_)
        target_oi_ = core::target_of(group_.weights_oi[m], metric_.of(m), rounding_);
      matrix_ = m;
      return core::round_target(group_.names[m], target_oi_, metric_.of(m),
                                core::with_code(rounding_, *option.code));
    }

   private:
    const core::MatrixGroup& group_;
    core::MetricRounding rounding_;
    core::GroupMetric metric_;
    std::size_t matrix_ = 0;  ///< that `target_oi_` was made for
    at::Tensor target_oi_;
  };

  const AutoParams& params() const { return params_; }
  const std::vector<Option>& options() const { return options_; }

 private:
  /// How far a layout is from the budget, in bits a weight of a large matrix.
  double away(const LayoutOption& option) const {
    constexpr int64_t kSide = 4096;
    const auto layout = format::make_layout(option.layout);
    return std::fabs(static_cast<double>(layout->bits(kSide, kSide)) / (kSide * kSide) -
                     params_.bits);
  }

  AutoParams params_;
  std::vector<Option> options_;
  std::unique_ptr<const core::Transform> transform_;
  std::unique_ptr<const core::MetricProvider> metric_;
  std::size_t nearest_ = 0;                  ///< option that is nearest to the budget
  std::map<std::string, std::size_t> plan_;  ///< option of each matrix
};

/// tr(E H E^T): products in float32 on the weights' device, their sum in float64.
double squared(const at::Tensor& e_oi, const at::Tensor& h_ii) {
  return (at::matmul(e_oi, h_ii) * e_oi).sum(at::kDouble).item<double>();
}

class AutoPlanner : public core::Planner {
 public:
  AutoPlanner(std::shared_ptr<const Auto> method, const Rng& rng)
      : method_(std::move(method)), rng_(rng) {}

  void add(const core::MatrixGroup& group, const core::Stats& stats) override {
    const bool known = stats.second_moment_ii.defined() && stats.tokens > 0;
    const at::Tensor h_ii =
        known ? stats.second_moment_ii.to(group.weights_oi.front().device(), at::kFloat)
              : at::Tensor();
    const auto made = method_->transform_of(group, stats, Rng(rng_).child(group.id));
    Auto::Rounder rounder(*method_, group, stats, made);
    const std::size_t options = method_->options().size();
    for (std::size_t m = 0; m < group.names.size(); ++m) {
      const at::Tensor& w_oi = group.weights_oi[m];
      if (m == 0 || method_->params().unit == Unit::matrix)
        units_.push_back(
            {.ladder = {.name = group.names[m], .rungs = std::vector<core::Rung>(options)},
             .names = {},
             .decoded = std::vector<std::vector<at::Tensor>>(options)});
      if (units_.back().names.empty()) cross_layer_.start_unit(options);
      MixUnit& unit = units_.back();
      unit.names.push_back(group.names[m]);
      cross_layer_.add_matrix(group.names[m], group.gradient(m));
      for (std::size_t o = 0; o < options; ++o) {
        const format::WeightCode code = rounder.round(m, method_->options()[o]).code;
        const at::Tensor v_oi = core::decoded_weight(code).to(w_oi.device());
        unit.ladder.rungs[o].bytes += code.layout->bits(code.rows, code.cols) / 8;
        unit.ladder.rungs[o].cost +=
            cost(group, m, h_ii, v_oi, stats.tokens) + cross_layer_.add_change(o, w_oi - v_oi);
        unit.decoded[o].push_back(v_oi.to(at::kBFloat16));
      }
      weights_ += w_oi.numel();
    }
  }

  std::string finish(const core::ModelProbe& probe) override {
    const AutoParams& params = method_->params();
    const auto budget = static_cast<int64_t>(params.bits * static_cast<double>(weights_) / 8);
    std::vector<std::vector<std::string>> names;
    std::vector<core::Ladder> ladders;
    for (const MixUnit& u : units_) {
      names.push_back(u.names);
      ladders.push_back(u.ladder);
    }
    MixSearch search{.budget_bytes = budget,
                     .measured = params.score == Score::measured,
                     .rounds = params.rounds,
                     .guard = params.guard,
                     .couplings = {}};
    core::Couplings couplings;
    if (params.score == Score::cross_layer) couplings = cross_layer_.couplings(ladders);
    search.couplings = std::move(couplings.values);
    const Mix mix = find_mix(std::move(units_), search, probe);
    Json report = {{"bits", 8.0 * static_cast<double>(mix.bytes) / static_cast<double>(weights_)},
                   {"divergence", mix.divergence},
                   {"divergences_of_mixes", mix.tried},
                   {"used", mix.is_single ? "single" : "mix"}};
    if (mix.single >= 0) {
      report["divergence_of_best_single"] = mix.divergence_of_single;
      report["best_single"] =
          method_->options()[static_cast<std::size_t>(mix.single)].layout->description();
    }
    for (std::size_t u = 0; u < names.size(); ++u) {
      for (const std::string& name : names[u]) report["matrices"][name] = mix.options[u];
      for (const core::Rung& r : ladders[u].rungs)
        report["costs"][names[u].front()].push_back(r.cost);
    }
    if (params.score == Score::cross_layer) {
      report["predicted_alone"] = core::cost_of(ladders, {}, mix.options);
      report["couplings_reliability"] = couplings.reliability;
      report["predicted"] = core::cost_of(ladders, search.couplings, mix.options);
      add_sensitivities(report);
    }
    return report.dump();
  }

 private:
  /// What the layers' budgets of a pruner or of ranks can be made from as well.
  void add_sensitivities(Json& report) const {
    const std::vector<core::Sensitivity> matrices = cross_layer_.sensitivities();
    for (const core::Sensitivity& m : matrices)
      report["sensitivities"][m.name] = {{"own", m.own}, {"shared", m.shared}};
    for (const core::Sensitivity& t : core::by_type(matrices))
      report["sensitivity_by_type"].push_back({t.name, t.own, t.shared});
  }

  double cost(const core::MatrixGroup& group, std::size_t i, const at::Tensor& h_ii,
              const at::Tensor& v_oi, int64_t tokens) const {
    const at::Tensor& w_oi = group.weights_oi[i];
    const at::Tensor e_oi = w_oi - v_oi;
    const core::GradientStats* g = group.gradient(i);
    const Score score = method_->params().score;
    if (score == Score::fisher && g && g->fisher_oi.defined())
      return (g->fisher_oi.to(e_oi.device()) * e_oi * e_oi).sum(at::kDouble).item<double>();
    if (score == Score::first_order && g && g->gradient_oi.defined())
      return (g->gradient_oi.to(e_oi.device()).abs() * e_oi.abs()).sum(at::kDouble).item<double>();
    if (!h_ii.defined())
      return relative(e_oi.square().sum(at::kDouble).item<double>(),
                      w_oi.square().sum(at::kDouble).item<double>());
    if ((score == Score::two_sided || score == Score::cross_layer) && g &&
        g->output_moment_oo.defined())
      return two_sided_damage(*g, e_oi, h_ii / static_cast<double>(tokens));
    return relative(squared(e_oi, h_ii), squared(w_oi, h_ii));
  }
  /// 1/2 tr(G E H E^T) in nats a token of the text; `h_ii` is a mean.
  static double two_sided_damage(const core::GradientStats& g, const at::Tensor& e_oi,
                                 const at::Tensor& h_ii) {
    const at::Tensor moment_oo = g.output_moment_oo.to(e_oi.device(), at::kFloat);
    return (at::matmul(moment_oo, at::matmul(e_oi, h_ii)) * e_oi).sum(at::kDouble).item<double>() /
           (2 * static_cast<double>(g.text_tokens));
  }
  static double relative(double error, double whole) { return whole > 0 ? error / whole : 0; }

  std::shared_ptr<const Auto> method_;
  Rng rng_;
  std::vector<MixUnit> units_;
  CrossLayerPlan cross_layer_;  ///< holds nothing unless the gradients hold sketches
  int64_t weights_ = 0;
};

std::unique_ptr<core::Planner> Auto::planner(const Rng& rng) const {
  return std::make_unique<AutoPlanner>(std::make_shared<Auto>(params_), rng);
}

}  // namespace

void add_auto(Registry<core::Quantizer>& registry) {
  registry.add<Auto>("auto", "mixed precision: the layout of each matrix by a budget of bits");
}

}  // namespace cupel::quant
