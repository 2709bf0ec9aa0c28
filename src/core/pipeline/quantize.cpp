// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pipeline/quantize.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <fnmatch.h>
#include <malloc.h>

#include <algorithm>
#include <sstream>

#include "base/hash.h"
#include "core/activations.h"
#include "core/gradients.h"
#include "core/pipeline/block_handle.h"
#include "core/pipeline/survey.h"
#include "core/planner.h"
#include "core/tensor_util.h"

namespace cupel::core {

namespace {

using format::Role;
using format::WeightId;

// Rows whose error is measured at a time.
constexpr int64_t kMeasuredRows = 512;

/// A set of matrices that one step quantizes together: the part of an input group that falls to it.
struct Unit {
  const QuantStep* step = nullptr;
  std::vector<WeightId> weights;
  std::string key;
};

/// The matrices of one input group.
struct Stage {
  WeightId first;  ///< of the group
  std::vector<Unit> units;
  Needs needs;
  std::map<std::string, GradientStats> gradients;  ///< of its matrices, with what this pass adds
};

/// The matrices of one block whose step wants them all at once.
struct WholeUnit {
  const QuantStep* step;
  std::vector<BlockPart> parts;
};

/// The input groups of one block (or the embedding and head: layer -1) in the order of the forward
/// pass.
struct BlockPlan {
  int layer = -1;
  std::vector<WholeUnit> whole;  ///< quantized before the stages
  std::vector<Stage> stages;
};

bool has_wildcard(const std::string& pattern) {
  return pattern.find_first_of("*?[") != std::string::npos;
}

class Pass {
 public:
  explicit Pass(QuantizeJob& job) : job_(job), arch_(job.model.config().architecture()) {}

  std::string run() {
    const at::NoGradGuard no_grad;
    plan();
    hidden_ = embed_calibration();
    std::string state = key_of({"calibration", calibration_key(), job_.model_key, cat(job_.seed)});
    if (original_) original_hidden_ = hidden_;
    make_plans(state);
    for (BlockPlan& block : blocks_) state = run_block(block, state);
    return key_of({"quantized", state});
  }

 private:
  void plan() {
    for (int layer = 0; layer < job_.model.layers(); ++layer) {
      BlockPlan block{layer, {}, {}};
      for (const auto& group : format::input_groups(job_.model.config(), layer)) {
        check_inputs(group);
        add_stage(block, group);
      }
      blocks_.push_back(std::move(block));
    }
    BlockPlan outside{-1, {}, {}};
    add_stage(outside, {{Role::embedding}});
    if (!job_.model.config().tied_head) add_stage(outside, {{Role::head}});
    blocks_.push_back(std::move(outside));
    for (const QuantStep& step : job_.steps)
      gradient_needs_ = gradient_needs_ | step.quantizer->gradient_needs();
    needs_any_ = needs_any_ || gradient_needs_.any();
    if (gradient_needs_.any()) untouched_ = job_.model;
    CUPEL_CHECK(!needs_any_ || !job_.calibration.empty(), user,
                "a quant step needs calibration text, but the recipe has no data.calibration");
  }

  /// Steps that plan see the whole model first; a plan that the run folder holds is taken from
  /// there.
  void make_plans(const std::string& state) {
    std::vector<SurveyGroup> groups;
    bool wanted = false, missing = false;
    std::vector<std::string> keys;
    for (QuantStep& step : job_.steps) {
      keys.push_back(key_of({"plan 1", state, step.key, params_json(*step.params)}));
      if (!step.quantizer->planner(Rng(job_.seed))) continue;
      wanted = true;
      step.plan = job_.store.load_plan(keys.back()).value_or("");
      missing = missing || step.plan.empty();
    }
    if (!wanted) return;
    if (missing) {
      for (const BlockPlan& block : blocks_)
        for (const Stage& stage : block.stages)
          for (const Unit& unit : stage.units)
            groups.push_back({static_cast<std::size_t>(unit.step - job_.steps.data()), stage.first,
                              unit.weights});
      if (gradient_needs_.any()) collect();
      const auto plans = survey(job_, groups, gradients_ ? &*gradients_ : nullptr);
      for (std::size_t s = 0; s < plans.size(); ++s)
        if (!plans[s].empty()) job_.store.save_plan(keys[s], job_.steps[s].plan = plans[s]);
    }
    for (QuantStep& step : job_.steps) {
      if (step.plan.empty()) continue;
      step.quantizer = step.quantizer->planned(step.plan);
      if (job_.on_plan) job_.on_plan(step);
    }
  }

  void collect() {
    if (gradients_) return;
    gradients_ =
        collect_gradients(*untouched_, job_.calibration, gradient_needs_, Rng(job_.seed, "labels"));
    untouched_.reset();
  }

  /// What is to be done with the input of a matrix, in words; "" for nothing.
  std::string input_text(const WeightId& id) const {
    const std::string name = canonical_name(arch_, id);
    if (const auto done = job_.done.find(name); done != job_.done.end())
      return description(done->second.rounding);
    if (const QuantStep* step = step_for(job_.steps, job_.model.config(), name))
      return activation_text(step->params->activations);
    const auto input = job_.model.input_of(id);
    return input ? description(input->rounding) : "";
  }

  /// Matrices that share an input read the same numbers.
  void check_inputs(const std::vector<WeightId>& group) const {
    const std::string first = input_text(group.front());
    for (const WeightId& id : group)
      CUPEL_CHECK(input_text(id) == first, user, canonical_name(arch_, id), ": activations ",
                  first.empty() ? "none" : first, " expected, as for ",
                  canonical_name(arch_, group.front()), ", because both read the same input; ",
                  input_text(id).empty() ? "none" : input_text(id), " found");
  }

  void add_stage(BlockPlan& block, const std::vector<WeightId>& group) {
    Stage stage{group.front(), {}, {}};
    for (const WeightId& id : group) {
      const std::string name = canonical_name(arch_, id);
      if (job_.done.contains(name)) continue;
      const QuantStep* step = step_for(job_.steps, job_.model.config(), name);
      if (!step) continue;
      if (block.layer >= 0 && step->quantizer->needs().block) {
        add_whole(block, *step, group.front(), id);
        continue;
      }
      stage.needs = stage.needs | needs_of(*step, id.role);
      auto unit = std::ranges::find(stage.units, step, &Unit::step);
      if (unit == stage.units.end()) unit = stage.units.insert(unit, Unit{step, {}, {}});
      unit->weights.push_back(id);
    }
    total_ += static_cast<int64_t>(stage.units.size());
    needs_any_ = needs_any_ || stage.needs.any();
    if (stage.needs.cross_moment && !original_) original_ = job_.model;
    if (!stage.units.empty()) block.stages.push_back(std::move(stage));
  }

  void add_whole(BlockPlan& block, const QuantStep& step, const WeightId& first,
                 const WeightId& id) {
    needs_any_ = true;
    auto unit = std::ranges::find(block.whole, &step, &WholeUnit::step);
    if (unit == block.whole.end()) {
      unit = block.whole.insert(unit, WholeUnit{&step, {}});
      ++total_;
    }
    if (unit->parts.empty() || unit->parts.back().first != first)
      unit->parts.push_back({first, {}});
    unit->parts.back().weights.push_back(id);
  }

  /// An untied embedding is looked up, never multiplied: no input statistics exist for it.
  Needs needs_of(const QuantStep& step, Role role) const {
    if (is_looked_up(role)) return {};
    Needs needs = step.quantizer->needs() | activation_needs(step.params->activations);
    // Moments of rounded inputs can be taken only when their transform is known.
    needs.inputs =
        needs.inputs || (needs.cross_moment && !activation_text(step.params->activations).empty());
    return needs;
  }

  bool is_looked_up(Role role) const {
    return role == Role::embedding && !job_.model.config().tied_head;
  }

  std::string calibration_key() const {
    Sha256 hash;
    for (const auto& sample : job_.calibration) hash.add(std::as_bytes(std::span(sample))).add("|");
    return hash.hex();
  }

  std::vector<at::Tensor> embed_calibration() {
    std::vector<at::Tensor> out;
    if (!needs_any_) return out;
    for (const auto& sample : job_.calibration)
      out.push_back(job_.model.embed(ids_tensor(sample, job_.model.options().device)));
    job_.model.evict(-1);
    return out;
  }

  std::string run_block(BlockPlan& block, const std::string& state) {
    const std::string what = block.layer < 0 ? "embedding and head" : cat("layer ", block.layer);
    return in_frame("quantizing " + what, [&] {
      std::string key = key_of({"block", state});
      for (const WholeUnit& unit : block.whole) key = run_whole(block.layer, unit, key);
      for (Stage& stage : block.stages) key = run_stage(block.layer, stage, key);
      if (block.layer >= 0) advance(block);
      job_.model.evict(block.layer);
      // glibc keeps freed memory below 32 MiB in its heap, where pieces add up block after block.
      malloc_trim(0);
      return key;
    });
  }

  std::string run_whole(int layer, const WholeUnit& whole, const std::string& state) {
    Unit unit{whole.step, {}, {}};
    for (const BlockPart& part : whole.parts)
      unit.weights.insert(unit.weights.end(), part.weights.begin(), part.weights.end());
    unit.key = unit_key(unit, state);
    auto found = job_.store.load_codes(unit.key);
    const bool skipped = found.has_value();
    if (!skipped) found = quantize_whole(layer, whole, unit.key);
    finish(unit, *found, skipped);
    return key_of({state, unit.key});
  }

  std::vector<QuantizedMatrix> quantize_whole(int layer, const WholeUnit& whole,
                                              const std::string& key) {
    const Quantizer& method = *whole.step->quantizer;
    const Choice& activations = whole.step->params->activations;
    BlockHandle block(job_.model, layer, hidden_, whole.parts,
                      method.needs() | activation_needs(activations));
    MatrixGroup all{.id = cat("model.layers.", layer)};
    std::vector<const Stats*> inputs;
    for (const auto& part : block.parts()) {
      const MatrixGroup& g = part.group;
      all.names.insert(all.names.end(), g.names.begin(), g.names.end());
      all.weights_oi.insert(all.weights_oi.end(), g.weights_oi.begin(), g.weights_oi.end());
      inputs.insert(inputs.end(), g.names.size(), &part.stats);
    }
    auto results = method.quantize(all, {}, &block, Rng(job_.seed, all.id));
    CUPEL_ASSERT(results.size() == all.names.size());
    std::size_t begin = 0;
    for (const auto& part : block.parts()) {
      const std::size_t count = part.group.names.size();
      round_inputs(activations, std::span(results).subspan(begin, count), part.stats);
      begin += count;
    }
    std::vector<QuantizedMatrix> out;
    for (std::size_t i = 0; i < results.size(); ++i)
      out.push_back(measured(all.names[i], whole.step->key, std::move(results[i]),
                             all.weights_oi[i], *inputs[i]));
    job_.store.save_codes(key, out);
    return out;
  }

  std::string run_stage(int layer, Stage& stage, const std::string& state) {
    std::string next = state;
    bool all_done = true;
    std::vector<std::optional<std::vector<QuantizedMatrix>>> found;
    for (Unit& unit : stage.units) {
      unit.key = unit_key(unit, state);
      next = key_of({next, unit.key});
      found.push_back(job_.store.load_codes(unit.key));
      all_done = all_done && found.back();
    }
    Stats stats;
    if (!all_done && stage.needs.any()) stats = statistics(layer, stage);
    for (std::size_t i = 0; i < stage.units.size(); ++i) {
      const bool skipped = found[i].has_value();
      if (!skipped) found[i] = quantize(stage.units[i], stage, stats);
      finish(stage.units[i], *found[i], skipped);
    }
    stage.gradients.clear();
    return next;
  }

  std::string unit_key(const Unit& unit, const std::string& state) const {
    std::string names;
    for (const WeightId& id : unit.weights) names += canonical_name(arch_, id) + "\n";
    return key_of(
        {"unit 4", state, unit.step->key, params_json(*unit.step->params), unit.step->plan, names});
  }

  /// The statistics of the stage's input. A tied embedding is quantized for its work as the head,
  /// which reads the final norm's output.
  Stats statistics(int layer, Stage& stage) {
    if (gradient_needs_.any()) find_gradients(stage);
    Stats stats;
    at::Tensor original;
    const Tap tap = [&](const WeightId& first, const at::Tensor& x) {
      if (first != stage.first) return true;
      add_guided(stage, stats.tokens, x);
      stats.add(stage.needs, x, original);
      return false;
    };
    for (std::size_t n = 0; n < hidden_.size(); ++n) {
      original = original_input(layer, stage, n);
      if (layer >= 0)
        job_.model.block(layer, hidden_[n], tap);
      else
        stats.add(stage.needs, job_.model.normalized(hidden_[n]), original);
    }
    return stats;
  }

  /// What the stage reads of sample n in the original model, if it wants to know. The tokens of an
  /// expert are not the same there: undefined.
  at::Tensor original_input(int layer, const Stage& stage, std::size_t n) {
    at::Tensor input;
    if (!stage.needs.cross_moment || stage.first.expert >= 0) return input;
    if (layer < 0) return original_->normalized(original_hidden_[n]);
    original_->block(layer, original_hidden_[n], [&](const WeightId& first, const at::Tensor& x) {
      if (first == stage.first) input = x;
      return first != stage.first;
    });
    return input;
  }

  /// The gradients of the stage's matrices. The first stage that is not found finished makes those
  /// of the whole model as it was before this pass.
  void find_gradients(Stage& stage) {
    collect();
    for (const Unit& unit : stage.units)
      for (const WeightId& id : unit.weights) {
        const std::string name = canonical_name(arch_, id);
        if (auto found = gradients_->extract(name))
          stage.gradients[name] = std::move(found.mapped());
      }
  }

  /// Adds sum_t s_tq x_t x_t^T for the tokens after `done`, if any matrix wants it.
  void add_guided(Stage& stage, int64_t done, const at::Tensor& x) const {
    // The tokens of an expert are those that the quantized model routes to it: they are not those
    // of the gradient pass, and have no saliency.
    if (stage.first.expert >= 0) return;
    for (auto& [name, g] : stage.gradients) {
      const at::Tensor x_ti = x.reshape({-1, x.size(-1)}).to(at::kFloat);
      if (!g.saliency_tq.defined()) continue;
      CUPEL_ASSERT(done + x_ti.size(0) <= g.saliency_tq.size(0));
      const at::Tensor s_tq = g.saliency_tq.slice(0, done, done + x_ti.size(0)).to(x_ti.device());
      for (int64_t q = 0; q < s_tq.size(1); ++q) {
        const at::Tensor h = at::matmul((x_ti * s_tq.select(1, q).unsqueeze(1)).t(), x_ti);
        if (!g.guided_qii.defined())
          g.guided_qii = at::zeros({s_tq.size(1), h.size(0), h.size(1)},
                                   at::TensorOptions(at::kDouble).device(h.device()));
        g.guided_qii[q].add_(h);
      }
    }
  }

  std::vector<QuantizedMatrix> quantize(const Unit& unit, const Stage& stage, const Stats& input) {
    MatrixGroup group;
    group.id = group_id(arch_, unit.weights.front());
    group.activations = &unit.step->params->activations;
    for (const WeightId& id : unit.weights) {
      group.names.push_back(canonical_name(arch_, id));
      group.weights_oi.push_back(job_.model.weight(id).to(at::kFloat).contiguous());
      const auto gradient = stage.gradients.find(group.names.back());
      group.gradients.push_back(gradient == stage.gradients.end() ? nullptr : &gradient->second);
    }
    auto results = unit.step->quantizer->quantize(group, input, nullptr, Rng(job_.seed, group.id));
    CUPEL_ASSERT(results.size() == group.names.size());
    if (!is_looked_up(unit.weights.front().role))
      round_inputs(unit.step->params->activations, results, input);
    std::vector<QuantizedMatrix> out;
    for (std::size_t i = 0; i < results.size(); ++i)
      out.push_back(measured(group.names[i], unit.step->key, std::move(results[i]),
                             group.weights_oi[i], input));
    job_.store.save_codes(unit.key, out);
    return out;
  }

  static QuantizedMatrix measured(const std::string& name, const std::string& method,
                                  MatrixResult result, const at::Tensor& w_oi, const Stats& input) {
    QuantizedMatrix m{name, method, std::move(result), 0, false};
    m.weighted = input.second_moment_ii.defined() && input.finite() && input.tokens > 0;
    const at::Tensor h_ii = m.weighted ? input.second_moment_ii.to(w_oi.device()) : at::Tensor();
    const auto energy = [&](const at::Tensor& e_oi) {
      return ((m.weighted ? at::matmul(e_oi, h_ii) : e_oi) * e_oi).sum().item<double>();
    };
    const at::Tensor v_oi = decoded_weight(m.result.code).to(w_oi.device());
    double whole = 0, lost = 0;
    // In pieces: a whole matrix in float64, times a moment, would be the most that a run holds.
    for (int64_t o = 0; o < w_oi.size(0); o += kMeasuredRows) {
      const int64_t end = std::min(w_oi.size(0), o + kMeasuredRows);
      const at::Tensor piece_oi = w_oi.slice(0, o, end).to(at::kDouble);
      whole += energy(piece_oi);
      lost += energy(piece_oi - v_oi.slice(0, o, end));
    }
    m.relative_error = whole > 0 ? lost / whole : 0;
    return m;
  }

  void finish(const Unit& unit, const std::vector<QuantizedMatrix>& matrices, bool skipped) {
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      const FinishedMatrix done = finished(matrices[i], unit.key, i);
      const format::WeightCode& code = matrices[i].result.code;
      job_.model.set_weight(unit.weights[i], decoded_weight(code), [store = job_.store, done] {
        return decoded_weight(store.load_code(done));
      });
      job_.model.set_input(unit.weights[i], {code.input, code.rounding});
      job_.done.insert_or_assign(done.name, done);
    }
    ++finished_;
    if (job_.on_unit) job_.on_unit(matrices, skipped, finished_, total_);
  }

  void advance(const BlockPlan& block) {
    for (at::Tensor& x : hidden_) {
      x = job_.model.block(block.layer, x);
      CUPEL_CHECK(
          at::isfinite(x).all().item<bool>(), data, "the output of layer ", block.layer,
          " is not finite on calibration text; the weights hold NaN or infinity, or overflow");
    }
    if (!original_) return;
    for (at::Tensor& x : original_hidden_) x = original_->block(block.layer, x);
    original_->evict(block.layer);
  }

  QuantizeJob& job_;
  const format::Architecture& arch_;
  std::vector<BlockPlan> blocks_;
  std::vector<at::Tensor> hidden_;  ///< the calibration samples' x [1, t, h] at the block's input
  int64_t finished_ = 0, total_ = 0;
  bool needs_any_ = false;
  GradientNeeds gradient_needs_;
  /// For steps that compare inputs with the original's: the model before this pass, and its hidden
  /// states. Twice the memory of a pass without.
  std::optional<Model> original_;
  std::vector<at::Tensor> original_hidden_;
  std::optional<Model> untouched_;  ///< shares the weights that were not replaced yet
  std::optional<Gradients> gradients_;
};

/// Whether one pattern of a step names the matrix.
bool names(const std::string& pattern, const format::WeightId& id, const std::string& name,
           const std::string& stem) {
  if (!has_wildcard(pattern)) return pattern == stem || pattern == name;
  return id.layer >= 0 && (fnmatch(pattern.c_str(), stem.c_str(), 0) == 0 ||
                           fnmatch(pattern.c_str(), name.c_str(), 0) == 0);
}

}  // namespace

const QuantStep* step_for(const std::vector<QuantStep>& steps, const format::ModelConfig& config,
                          const std::string& name) {
  const auto id = format::id_of_canonical(config.architecture(), name);
  if (!id || !format::is_matrix(id->role)) return nullptr;
  const std::string stem = name.substr(0, name.rfind(".weight"));
  for (const QuantStep& step : steps) {
    std::istringstream patterns(step.params->layers);
    for (std::string pattern; std::getline(patterns >> std::ws, pattern, ',');)
      if (names(pattern, *id, name, stem)) return &step;
  }
  return nullptr;
}

std::string quantize_model(QuantizeJob& job) {
  return Pass(job).run();
}

}  // namespace cupel::core
