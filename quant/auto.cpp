// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: bits where the loss feels them: measure each group at every layout, then solve for the mix.
// Formula: min sum_g c_g(l_g) s.t. sum_g bytes_g(l_g) <= budget; c_g by the chosen score.
// Source: HAWQ, AutoScheme, HIGGS' linearity; first-order score after the spike-aware seed.
// Cost: every layout of every group is rounded once more and kept, two bytes a weight and layout;
// `measured` runs the model once a group.
// Differs: the mix is used only if it diverges less on held-out text than the best single layout.
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "core/allocator.h"
#include "core/code.h"
#include "core/feedback.h"
#include "core/metric.h"
#include "core/planner.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "format/layouts/uniform.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

using Json = nlohmann::json;

enum class Score { output, measured, fisher, first_order, two_sided };

struct LayoutOption : Params {
  Choice layout{format::layout_alternatives(), "uniform"};
  void visit(ParamVisitor& v) override { v.field("layout", layout, "one that groups may get"); }
};

struct AutoParams : core::QuantizerParams {
  double bits = 4;
  std::vector<LayoutOption> options;
  Score score = Score::measured;
  core::FeedbackOrder order = core::FeedbackOrder::activation;
  double damp = 0.01;
  int passes = 0;
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
                              {"two-sided", static_cast<int>(Score::two_sided)}};
    v.field(
        "layers", layers,
        "globs over names of decoder matrices, with commas between them; embedding and head only "
        "when named in full");
    v.field("bits", bits, "the average over the matrices of this step, scales included").in(1, 16);
    list_field(v, "options", options, "the layouts that a group may get");
    v.field("score", score, scores,
            "what an error of a group costs: its share of the output's energy; that times the "
            "divergence measured with this group alone rounded; the Fisher information of its "
            "weights; their gradient's size; the moments of both sides");
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

/// One layout that groups may get.
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
    }
  }

  core::Needs needs() const override { return metric_->needs() | transform_->needs(); }
  core::GradientNeeds gradient_needs() const override {
    core::GradientNeeds needs = metric_->gradient_needs();
    needs.fisher |= params_.score == Score::fisher || params_.score == Score::first_order;
    needs.output_moment |= params_.score == Score::two_sided;
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
    CUPEL_CHECK(json.is_object() && json.contains("groups"), data, "this is no plan of quant.auto");
    for (const auto& [group, option] : json.at("groups").items()) copy->plan_[group] = option;
    return copy;
  }

  std::vector<core::MatrixResult> quantize(const core::MatrixGroup& group, const core::Stats& stats,
                                           core::BlockHandle*, const Rng& rng) const override {
    const auto found = plan_.find(group.id);
    CUPEL_CHECK(found != plan_.end(), internal, group.id, " is not in the plan of quant.auto");
    auto results = rounded(group, stats, rng, options_.at(found->second));
    for (core::MatrixResult& r : results)
      core::add_note(r, options_.at(found->second).layout->description());
    return results;
  }

  std::vector<core::MatrixResult> rounded(const core::MatrixGroup& group, const core::Stats& stats,
                                          const Rng& rng, const Option& option) const {
    const core::MadeTransform made = core::transform_for(
        *transform_, group, stats, rng, *option.code, core::FitMetric::second_moment);
    auto results = core::round_group(group, stats,
                                     {.code = *option.code,
                                      .transform = made.transform,
                                      .metric = *metric_,
                                      .feedback = {.order = params_.order, .damp = params_.damp},
                                      .passes = params_.passes,
                                      .note = made.note});
    core::add_fallback(results, made.fallback);
    return results;
  }

  const AutoParams& params() const { return params_; }
  const std::vector<Option>& options() const { return options_; }

 private:
  AutoParams params_;
  std::vector<Option> options_;
  std::unique_ptr<const core::Transform> transform_;
  std::unique_ptr<const core::MetricProvider> metric_;
  std::map<std::string, std::size_t> plan_;  ///< option of each group
};

/// What one group costs at each option, and its weights as they would be stored.
struct Measured {
  std::string id;
  std::vector<std::string> names;
  core::Ladder ladder;
  std::vector<std::vector<at::Tensor>> decoded;  ///< [option][matrix], bfloat16: only the probe
                                                 ///< reads them
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
    Measured m{.id = group.id,
               .names = group.names,
               .ladder = {.name = group.id, .rungs = {}},
               .decoded = {}};
    const bool known = stats.second_moment_ii.defined() && stats.tokens > 0;
    const at::Tensor h_ii =
        known ? stats.second_moment_ii.to(group.weights_oi.front().device(), at::kFloat)
              : at::Tensor();
    for (const Option& option : method_->options()) {
      const auto results = method_->rounded(group, stats, Rng(rng_).child(group.id), option);
      core::Rung rung;
      std::vector<at::Tensor> decoded;
      for (std::size_t i = 0; i < results.size(); ++i) {
        const auto& code = results[i].code;
        rung.bytes += code.layout->bits(code.rows, code.cols) / 8;
        const at::Tensor v = core::decoded_weight(code);
        rung.cost += cost(group, i, h_ii, v.to(group.weights_oi[i].device()));
        decoded.push_back(v.to(at::kBFloat16));
        if (&option == &method_->options().front()) weights_ += code.rows * code.cols;
      }
      m.ladder.rungs.push_back(rung);
      m.decoded.push_back(std::move(decoded));
    }
    measured_.push_back(std::move(m));
  }

  std::string finish(const core::ModelProbe& probe) override {
    if (method_->params().score == Score::measured) scale_by_divergence(probe);
    const auto budget =
        static_cast<int64_t>(method_->params().bits * static_cast<double>(weights_) / 8);
    std::vector<core::Ladder> ladders;
    for (const Measured& m : measured_) ladders.push_back(m.ladder);
    core::Allocation chosen = core::allocate(ladders, budget);
    Json report;
    const double mixed = divergence(probe, chosen.rungs);
    report["divergence"] = mixed;
    if (const int single = best_single(budget); single >= 0) {
      const std::vector<int> uniform(measured_.size(), single);
      const double other = divergence(probe, uniform);
      report["divergence_of_best_single"] = other;
      report["best_single"] =
          method_->options()[static_cast<std::size_t>(single)].layout->description();
      report["used"] = other < mixed && method_->params().guard ? "single" : "mix";
      if (other < mixed && method_->params().guard) chosen.rungs = uniform;
    }
    for (std::size_t g = 0; g < measured_.size(); ++g)
      report["groups"][measured_[g].id] = chosen.rungs[g];
    int64_t bytes = 0;
    for (std::size_t g = 0; g < measured_.size(); ++g)
      bytes += measured_[g].ladder.rungs[static_cast<std::size_t>(chosen.rungs[g])].bytes;
    report["bits"] = 8.0 * static_cast<double>(bytes) / static_cast<double>(weights_);
    return report.dump();
  }

 private:
  double cost(const core::MatrixGroup& group, std::size_t i, const at::Tensor& h_ii,
              const at::Tensor& v_oi) const {
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
    if (score == Score::two_sided && g && g->output_moment_oo.defined()) {
      const at::Tensor moment_oo = g->output_moment_oo.to(e_oi.device(), at::kFloat);
      return (at::matmul(moment_oo, at::matmul(e_oi, h_ii)) * e_oi).sum(at::kDouble).item<double>();
    }
    return relative(squared(e_oi, h_ii), squared(w_oi, h_ii));
  }
  static double relative(double error, double whole) { return whole > 0 ? error / whole : 0; }

  std::map<std::string, at::Tensor> replacements(std::size_t group, int option) const {
    std::map<std::string, at::Tensor> out;
    const Measured& m = measured_[group];
    for (std::size_t i = 0; i < m.names.size(); ++i)
      out[m.names[i]] = m.decoded[static_cast<std::size_t>(option)][i];
    return out;
  }

  double divergence(const core::ModelProbe& probe, const std::vector<int>& rungs) const {
    std::map<std::string, at::Tensor> all;
    for (std::size_t g = 0; g < measured_.size(); ++g) all.merge(replacements(g, rungs[g]));
    return probe(all);
  }

  /// The divergence with one group alone at its coarsest option gives the cost of a unit of its
  /// error; finer options scale with their error (linear below a few tenths of a nat).
  void scale_by_divergence(const core::ModelProbe& probe) {
    for (std::size_t g = 0; g < measured_.size(); ++g) {
      auto& rungs = measured_[g].ladder.rungs;
      std::size_t coarsest = 0;
      for (std::size_t r = 1; r < rungs.size(); ++r)
        if (rungs[r].cost > rungs[coarsest].cost) coarsest = r;
      const double error = rungs[coarsest].cost;
      const double kl = probe(replacements(g, static_cast<int>(coarsest)));
      for (core::Rung& r : rungs) r.cost = error > 0 ? r.cost * kl / error : 0;
    }
  }

  /// The largest option that all groups together can have; -1 if none fits.
  int best_single(int64_t budget) const {
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t o = 0; o < method_->options().size(); ++o) {
      int64_t bytes = 0;
      double sum = 0;
      for (const Measured& m : measured_) {
        bytes += m.ladder.rungs[o].bytes;
        sum += m.ladder.rungs[o].cost;
      }
      if (bytes > budget || !(sum < least)) continue;
      least = sum;
      best = static_cast<int>(o);
    }
    return best;
  }

  std::shared_ptr<const Auto> method_;
  Rng rng_;
  std::vector<Measured> measured_;
  int64_t weights_ = 0;
};

std::unique_ptr<core::Planner> Auto::planner(const Rng& rng) const {
  return std::make_unique<AutoPlanner>(std::make_shared<Auto>(params_), rng);
}

}  // namespace

void add_auto(Registry<core::Quantizer>& registry) {
  registry.add<Auto>("auto", "mixed precision: the layout of each group by a budget of bits");
}

}  // namespace cupel::quant
