// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: ranges, scales of inputs and rounding, of weights and inputs, all judged by what the loss
//   notices of a layer's output.
// Formula: J = E[dy^T G dy] / 2, dy = V Q(T x) - W x, G = E[g g^T], g the log-likelihood's
// gradient. Source: "A Unified Hessian-Guided Framework for Post-Training Quantization" (its
// abstract). Cost: one backward pass; `steps` products of each matrix with both of its moments; the
// moments of
//   rounded inputs taken anew 12 times.
// Differs: transforms are what the artifact holds: the scales before a rotation are learned, the
//   rotation is the recipe's; at the end error feedback rounds again to the learned grids, and the
//   least J among all that was met, GPTQ at the start included, is kept.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>

#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "base/error.h"
#include "core/activations.h"
#include "core/codes/uniform_code.h"
#include "core/feedback.h"
#include "core/metric.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "core/transforms/rounding_loss.h"
#include "core/transforms/scaling.h"
#include "quant/integer_grid.h"
#include "quant/joint_learning.h"
#include "quant/methods.h"

namespace cupel::quant {
namespace {

using core::MatrixGroup;
using core::MatrixResult;
using core::Reference;
using core::Stats;

// Shares of the range of the inputs that are tried.
constexpr double kClips[] = {1, 0.95, 0.9, 0.8, 0.7};

struct UnifiedParams : core::QuantizerParams {
  OutputForm output = OutputForm::full;
  double output_damp = 0.1;
  int largest_whole = 4096, rank = 64;
  Reference reference = Reference::own;
  Learnables learn;
  LearningOrder order = LearningOrder::joint;
  bool clip_inputs = false, feedback = true;
  int steps = 100;
  double rate = 0, scaling_rate = 0.05;
  double smallest_clip = 0.5, largest_clip = 1.5;
  double damp = 0.01, correction = 0;
  int tokens = 1024;
  core::ScaleRule scale = core::ScaleRule::mse;
  void visit(ParamVisitor& v) override;
};

void UnifiedParams::visit(ParamVisitor& v) {
  QuantizerParams::visit(v);
  const EnumNames forms = {{"identity", static_cast<int>(OutputForm::identity)},
                           {"diagonal", static_cast<int>(OutputForm::diagonal)},
                           {"full", static_cast<int>(OutputForm::full)}};
  const EnumNames references = {{"own", static_cast<int>(Reference::own)},
                                {"original", static_cast<int>(Reference::original)}};
  const EnumNames orders = {{"joint", static_cast<int>(LearningOrder::joint)},
                            {"staged", static_cast<int>(LearningOrder::staged)}};
  v.field("output", output, forms, "what is kept of the moment G of the output's gradient");
  v.field("output_damp", output_damp, "share of the mean diagonal of G that is added to it")
      .in(0, 10);
  v.field("largest_whole", largest_whole, "outputs up to which G is held as a whole").in(1, 65536);
  v.field("rank", rank, "beyond that: directions of G beside its diagonal").in(0, 1024);
  v.field("reference", reference, references,
          "outputs are compared with those on the quantized model's own inputs, or the original's");
  v.field("ranges", learn.ranges, "learn the ranges of weights");
  v.field("clip_inputs", clip_inputs, "search the share of their range at which inputs clip");
  v.field("scaling", learn.scaling,
          "learn the scales of the inputs, where there is a transform to begin with");
  v.field("rounding", learn.rounding, "learn the rounding of weights");
  v.field("order", order, orders,
          "learn all of them at every step, or scaling, ranges, rounding one after the other");
  v.field("feedback", feedback, "round to the learned grids with error feedback as well");
  v.field("steps", steps, "of learning").in(0, 100000);
  v.field("rate", rate,
          "of ranges and rounding at first, in steps of the grid; falls to zero; 0 is 1 / steps")
      .in(0, 1);
  v.field("scaling_rate", scaling_rate, "of the logarithms of the scales at first; falls to zero")
      .in(0, 1);
  v.field("smallest_clip", smallest_clip, "each end of a range may shrink to this share of it")
      .in(0.01, 1);
  v.field("largest_clip", largest_clip, "and grow to this one").in(1, 10);
  v.field("damp", damp, "of the second moment in the feedback and in its target").in(0, 1);
  v.field("correction", correction,
          "share of the way from the weight to the best target for what is read; feedback starts "
          "there")
      .in(0, 1);
  v.field("tokens", tokens,
          "of calibration whose inputs are rounded anew as scales move; the choice is made on all")
      .in(16, 1000000);
  v.field("scale", scale, core::scale_rule_names(),
          "how the first grid is chosen: from extremes, or for the least error under the metric");
}

/// Every k-th token, about `wanted`.
at::Tensor sample_of(const std::vector<at::Tensor>& pieces_ti, int64_t wanted, at::Device device) {
  int64_t all = 0;
  for (const at::Tensor& x_ti : pieces_ti) all += x_ti.size(0);
  std::vector<std::vector<int64_t>> rows(pieces_ti.size());
  int64_t begin = 0, next = 0;
  const int64_t count = std::min(all, wanted);
  for (std::size_t n = 0; n < pieces_ti.size(); ++n) {
    for (; next < count && next * all / count < begin + pieces_ti[n].size(0); ++next)
      rows[n].push_back(next * all / count - begin);
    begin += pieces_ti[n].size(0);
  }
  std::vector<at::Tensor> parts;
  for (std::size_t n = 0; n < pieces_ti.size(); ++n)
    parts.push_back(pieces_ti[n].index_select(0, at::tensor(rows[n]).to(pieces_ti[n].device())));
  return at::cat(parts, 0).to(device);
}

format::InputRounding clipped(format::InputRounding r, double share) {
  (r.dynamic() ? r.clip : r.scale) *= static_cast<float>(share);
  return r;
}

std::string three_digits(double x) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::general, 3).ptr;
  return {text.data(), end};
}

/// One rounding of a matrix and what it costs.
struct Candidate {
  format::WeightCode code;
  double loss = std::numeric_limits<double>::infinity();
  const char* name = "";
};

class Unified : public core::Quantizer {
 public:
  using Parameters = UnifiedParams;
  explicit Unified(const UnifiedParams& params)
      : params_(params),
        schedule_{.learn = params.learn,
                  .order = params.order,
                  .rounding = {.steps = params.steps,
                               .rate = params.rate,
                               .smallest_clip = params.smallest_clip,
                               .largest_clip = params.largest_clip},
                  .scaling_rate = params.scaling_rate},
        layout_(integer_layout("unified", params.layout)),
        code_(core::make_code(layout_, params.scale)),
        transform_(core::make_transform(params.transform)),
        metric_(core::make_metric(Choice(core::metric_alternatives(), "activation"))) {
    if (params.transform.name == "none") schedule_.learn.scaling = false;
  }

  core::Needs needs() const override {
    return core::Needs{.second_moment = true,
                       .inputs = reads_inputs(),
                       .cross_moment = params_.reference == Reference::original} |
           transform_->needs();
  }
  core::GradientNeeds gradient_needs() const override {
    return {.output_moment = params_.output != OutputForm::identity};
  }
  std::shared_ptr<const format::Layout> layout() const override { return layout_; }

  std::vector<MatrixResult> quantize(const MatrixGroup& group, const Stats& stats,
                                     core::BlockHandle*, const Rng& rng) const override {
    const core::MadeTransform made =
        core::transform_for(*transform_, group, stats, rng, *code_, core::FitMetric::second_moment);
    const auto rounded = [&](bool with_feedback) {
      return core::round_group(group, stats,
                               {.code = *code_,
                                .transform = made.transform,
                                .metric = *metric_,
                                .feedback = {.damp = params_.damp},
                                .with_feedback = with_feedback,
                                .note = made.note});
    };
    auto results = rounded(false);
    // A fallback here means that the moment says nothing: there is nothing to learn from.
    if (results.front().fallback.empty()) improve(group, stats, rounded(true), results);
    core::add_fallback(results, made.fallback);
    return results;
  }

 private:
  /// Everything that J of a group is made from.
  struct Source {
    const MatrixGroup& group;
    const Stats& stats;
    JointProblem problem;
    Reference reference;
    at::Device device;
    std::string missing;  ///< for the fallback
  };

  bool reads_inputs() const {
    return !core::activation_text(params_.activations).empty() ||
           params_.reference == Reference::original;
  }

  Source source_of(const MatrixGroup& group, const Stats& stats) const {
    const at::Device device = group.weights_oi.front().device();
    Source s{.group = group,
             .stats = stats,
             .problem = {.w_oi = group.weights_oi,
                         .second_moment_ii = stats.second_moment_ii.to(device),
                         .tokens = stats.tokens},
             .reference = params_.reference,
             .device = device};
    if (s.reference == Reference::original && stats.original_inputs.size() != stats.inputs.size()) {
      s.reference = Reference::own;
      s.missing = "reference own: the original's inputs at its tokens are not known";
    }
    if (reads_inputs()) {
      s.problem.own_ti = sample_of(stats.inputs, params_.tokens, device);
      s.problem.reference_ti = s.reference == Reference::own
                                   ? s.problem.own_ti
                                   : sample_of(stats.original_inputs, params_.tokens, device);
    }
    for (std::size_t m = 0; m < group.weights_oi.size(); ++m)
      s.problem.outputs.push_back(output_metric(group, m, s));
    return s;
  }

  OutputMetric output_metric(const MatrixGroup& group, std::size_t m, Source& s) const {
    const core::GradientStats* g = group.gradient(m);
    if (params_.output == OutputForm::identity) return OutputMetric(group.weights_oi[m].size(0));
    if (g && g->output_moment_oo.defined() && g->finite() &&
        g->output_moment_oo.diagonal().sum().item<double>() > 0)
      return {*g,           params_.output, params_.output_damp, params_.largest_whole,
              params_.rank, s.device};
    if (s.missing.find("output") == std::string::npos)
      s.missing += cat(s.missing.empty() ? "" : "; ",
                       "output identity: no gradient of the loss reached ", group.names[m]);
    return OutputMetric(group.weights_oi[m].size(0));
  }

  core::InputMoments moments_of(const Source& s, const format::RoundedInput& input) const {
    if (reads_inputs()) return core::input_moments(s.stats, input, s.reference, s.device);
    return {.tokens = s.stats.tokens,
            .zz_ii = core::transform_second_moment(input.transform, s.problem.second_moment_ii)};
  }

  /// Learned from the plain results, which they take the place of where J says so.
  void improve(const MatrixGroup& group, const Stats& stats,
               const std::vector<MatrixResult>& by_gptq, std::vector<MatrixResult>& results) const {
    const Source s = source_of(group, stats);
    const format::InputTransform& transform = results.front().code.input;
    const auto chosen = core::rounding_for(params_.activations, transform, stats);
    JointState state{.input = {transform, chosen.rounding}};
    for (const MatrixResult& r : results) state.codes.push_back(r.code);
    const std::vector<Candidate> start = start_of(s, state, by_gptq);
    learn_jointly(s.problem, schedule_, state);
    state.input = {core::named(state.input.transform, group.id), {}};
    state.input.rounding =
        core::rounding_for(params_.activations, state.input.transform, stats).rounding;
    search_clip(s, state);
    std::vector<Candidate> found = best_of(s, state);
    settle(start, found, {transform, chosen.rounding}, state.input, results);
    core::add_fallback(results, s.missing);
    core::add_fallback(results, chosen.fallback);
  }

  /// J of the codes of a state on a sample of tokens, by the share of the inputs' range: the best.
  void search_clip(const Source& s, JointState& state) const {
    if (!params_.clip_inputs || state.input.rounding.none()) return;
    const format::InputRounding whole = state.input.rounding;
    double least = std::numeric_limits<double>::infinity();
    for (const double share : kClips) {
      const format::RoundedInput input{state.input.transform, clipped(whole, share)};
      core::InputMoments moments;
      core::add_moments(core::input_pair(s.problem.own_ti, s.problem.reference_ti, input), moments);
      double loss = 0;
      for (std::size_t m = 0; m < state.codes.size(); ++m)
        loss += OutputLoss(s.problem.outputs[m],
                           core::transform_weight(input.transform, s.problem.w_oi[m]), moments)
                    .of(core::decode(state.codes[m]).to(s.device));
      if (!(loss < least)) continue;
      least = loss;
      state.input.rounding = input.rounding;
    }
  }

  /// The better of plain rounding and GPTQ.
  std::vector<Candidate> start_of(const Source& s, const JointState& plain,
                                  const std::vector<MatrixResult>& by_gptq) const {
    const core::InputMoments moments = moments_of(s, plain.input);
    std::vector<Candidate> best;
    for (std::size_t m = 0; m < by_gptq.size(); ++m) {
      const OutputLoss judge(s.problem.outputs[m],
                             core::transform_weight(plain.input.transform, s.problem.w_oi[m]),
                             moments);
      const auto loss = [&](const format::WeightCode& code) {
        return judge.of(core::decode(code).to(s.device));
      };
      best.push_back({plain.codes[m], loss(plain.codes[m]), "plain rounding"});
      const double fed_back = loss(by_gptq[m].code);
      if (fed_back < best[m].loss) best[m] = {by_gptq[m].code, fed_back, "GPTQ"};
    }
    return best;
  }

  /// The best of the codes of a state and of what error feedback makes of it, on its grids and on
  /// those that are fitted to its target.
  std::vector<Candidate> best_of(const Source& s, const JointState& state) const {
    const core::InputMoments moments = moments_of(s, state.input);
    const auto inputs = std::make_shared<const core::Factor>(
        core::factorise(moments.zz_ii, moments.tokens, 1, {.damp = params_.damp}));
    at::Tensor shift_ii;
    if (params_.correction > 0 && moments.rz_ii.defined() && inputs->usable())
      shift_ii =
          params_.correction * core::regression_shift(moments.rz_ii, moments.zz_ii, inputs->damp);
    core::Metric weights;
    weights.weight = core::host_float(moments.zz_ii.diagonal()).clamp_min(0).contiguous();
    std::vector<Candidate> best(state.codes.size());
    for (std::size_t m = 0; m < best.size(); ++m) {
      const OutputMetric& outputs = s.problem.outputs[m];
      const at::Tensor w_oi = core::transform_weight(state.input.transform, s.problem.w_oi[m]);
      const at::Tensor target_oi =
          shift_ii.defined() ? w_oi + at::matmul(w_oi.to(at::kDouble), shift_ii).to(at::kFloat)
                             : w_oi;
      const OutputLoss judge(outputs, w_oi, moments);
      const auto consider = [&](const format::WeightCode& code, const char* name) {
        const double loss = judge.of(core::decode(code).to(s.device));
        if (loss < best[m].loss) best[m] = {code, loss, name};
      };
      consider(state.codes[m], "learned");
      if (!params_.feedback) continue;
      const core::GivenUniformCode grids(state.codes[m]);
      core::FeedbackPlan plan{.rows = {{.factor = inputs, .moment_ii = {}}}};
      consider(core::encode(*code_, target_oi, weights, plan), "feedback");
      consider(core::encode(grids, target_oi, weights, plan), "feedback to learned grids");
      if (!outputs.couples()) continue;
      plan.outputs = std::make_shared<const core::Factor>(core::factorise(
          outputs.dense(), 1, 1, {.order = core::FeedbackOrder::natural, .damp = 0}));
      consider(core::encode(*code_, target_oi, weights, plan), "feedback of both sides");
      consider(core::encode(grids, target_oi, weights, plan),
               "feedback of both sides to learned grids");
    }
    return best;
  }

  static double total(const std::vector<Candidate>& all) {
    double sum = 0;
    for (const Candidate& c : all) sum += c.loss;
    return sum;
  }

  /// The start or what was found, whichever has the least J: matrices share their input.
  static void settle(const std::vector<Candidate>& start, std::vector<Candidate>& found,
                     const format::RoundedInput& start_input,
                     const format::RoundedInput& found_input, std::vector<MatrixResult>& results) {
    const bool better = total(found) < total(start);
    const format::RoundedInput& input = better ? found_input : start_input;
    for (std::size_t m = 0; m < results.size(); ++m) {
      const Candidate& chosen = better ? found[m] : start[m];
      results[m].code = chosen.code;
      results[m].code.input = input.transform;
      results[m].code.rounding = input.rounding;
      core::add_note(
          results[m],
          better ? cat(chosen.name, ", J ", three_digits(chosen.loss), ", ",
                       three_digits(chosen.loss / start[m].loss), " of ", start[m].name)
                 : cat("J not lowered: ", chosen.name, " kept, J ", three_digits(chosen.loss)));
    }
  }

  UnifiedParams params_;
  JointSchedule schedule_;
  std::shared_ptr<const format::UniformLayout> layout_;
  std::unique_ptr<const core::Code> code_;
  std::unique_ptr<const core::Transform> transform_;
  std::unique_ptr<const core::MetricProvider> metric_;
};

}  // namespace

void add_unified(Registry<core::Quantizer>& registry) {
  registry.add<Unified>("unified",
                        "ranges, scales of inputs and rounding learned under one objective");
}

}  // namespace cupel::quant
