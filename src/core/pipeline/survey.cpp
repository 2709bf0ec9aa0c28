// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pipeline/survey.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <functional>
#include <span>

#include "base/error.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

constexpr std::size_t kMostProbes = 8;  // samples: the divergence of 2048 tokens ranks plans well
constexpr int64_t kLogitRows = 256;

/// Divergence of a changed model on the samples that were held out.
class Probe {
 public:
  Probe(const Model& model, std::span<const std::vector<int32_t>> samples)
      : original_(model), changed_(model) {
    for (const auto& sample : samples) {
      ids_.push_back(ids_tensor(sample, original_.options().device));
      std::vector<at::Tensor>& x = inputs_.emplace_back();
      x.push_back(original_.embed(ids_.back()));
      for (int l = 0; l < original_.layers(); ++l) x.push_back(original_.block(l, x.back()));
    }
  }

  double operator()(const std::map<std::string, at::Tensor>& replaced) {
    int first = original_.layers();
    bool embedding = false;
    std::vector<format::WeightId> ids;
    for (const auto& [name, value] : replaced) {
      const auto id = format::id_of_canonical(original_.config().architecture(), name);
      CUPEL_ASSERT(id.has_value());
      ids.push_back(*id);
      if (id->layer >= 0) first = std::min(first, id->layer);
      embedding = embedding || id->role == format::Role::embedding;
      changed_.set_weight(*id, value);
    }
    double sum = 0;
    int64_t tokens = 0;
    for (std::size_t s = 0; s < inputs_.size(); ++s) {
      const int from = embedding ? 0 : first;
      at::Tensor x =
          embedding ? changed_.embed(ids_[s]) : inputs_[s][static_cast<std::size_t>(first)];
      for (int l = from; l < changed_.layers(); ++l) x = changed_.block(l, x);
      sum += divergence(inputs_[s].back(), x);
      tokens += x.size(1);
    }
    for (const format::WeightId& id : ids) changed_.set_weight(id, original_.weight(id));
    return sum / static_cast<double>(std::max<int64_t>(1, tokens));
  }

 private:
  /// Summed over the positions of one sample.
  double divergence(const at::Tensor& x_nth, const at::Tensor& changed_nth) {
    double sum = 0;
    for (int64_t t = 0; t < x_nth.size(1); t += kLogitRows) {
      const int64_t end = std::min(x_nth.size(1), t + kLogitRows);
      const at::Tensor p = logs(original_, x_nth.slice(1, t, end));
      const at::Tensor q = logs(changed_, changed_nth.slice(1, t, end));
      sum += (p.exp() * (p - q)).sum(at::kDouble).item<double>();
    }
    return sum;
  }
  static at::Tensor logs(Model& model, const at::Tensor& x_nth) {
    return at::log_softmax(model.logits(x_nth).to(at::kFloat), -1);
  }

  Model original_, changed_;                     ///< share every weight that is not replaced
  std::vector<at::Tensor> ids_;                  ///< [1, t] of each sample
  std::vector<std::vector<at::Tensor>> inputs_;  ///< of each sample: the input of each block, and
                                                 ///< what the last one gives
};

/// Walks through the original model and shows every group to the planner of its step.
class Surveyor {
 public:
  Surveyor(const QuantizeJob& job, const std::vector<SurveyGroup>& groups,
           const Gradients* gradients)
      : job_(job), groups_(groups), gradients_(gradients), model_(job.model) {
    for (std::size_t s = 0; s < job.steps.size(); ++s)
      planners_.push_back(job.steps[s].quantizer->planner(Rng(job.seed, cat("plan ", s))));
  }

  void show_all(std::span<const std::vector<int32_t>> samples) {
    std::vector<at::Tensor> hidden;
    for (const auto& sample : samples)
      hidden.push_back(model_.embed(ids_tensor(sample, model_.options().device)));
    for (int layer = 0; layer < model_.layers(); ++layer) {
      std::map<std::size_t, Stats> stats;
      for (at::Tensor& x : hidden)
        x = model_.block(layer, x, [&](const format::WeightId& first, const at::Tensor& x_i) {
          add(stats, x_i, [&](const format::WeightId& id) { return id == first; });
          return true;
        });
      show(layer, stats);
    }
    std::map<std::size_t, Stats> stats;  // an untied embedding is looked up: it has none
    for (const at::Tensor& x : hidden)
      add(stats, model_.normalized(x), [&](const format::WeightId& id) {
        return id.layer < 0 && (id.role != format::Role::embedding || model_.config().tied_head);
      });
    show(-1, stats);
  }

  std::vector<std::string> finish(std::span<const std::vector<int32_t>> samples) {
    Probe probe(model_, samples);
    std::vector<std::string> plans(planners_.size());
    for (std::size_t s = 0; s < plans.size(); ++s)
      if (planners_[s]) plans[s] = planners_[s]->finish(std::ref(probe));
    return plans;
  }

 private:
  /// Adds an input to the statistics of the groups that read it and have a planner.
  template <class Reads>
  void add(std::map<std::size_t, Stats>& stats, const at::Tensor& x, Reads&& reads) const {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (planners_[groups_[g].step] && reads(groups_[g].first))
        // It walks through the original: its inputs are the original's.
        stats[g].add(job_.steps[groups_[g].step].quantizer->needs(), x, x);
  }

  void show(int layer, std::map<std::size_t, Stats>& stats) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!planners_[groups_[g].step] || groups_[g].first.layer != layer) continue;
      const MatrixGroup group = group_of(groups_[g]);
      in_frame(cat("planning ", group.id),
               [&] { planners_[groups_[g].step]->add(group, stats[g]); });
    }
  }

  MatrixGroup group_of(const SurveyGroup& g) {
    const auto& arch = model_.config().architecture();
    MatrixGroup group{.id = group_id(arch, g.weights.front())};
    for (const auto& id : g.weights) {
      group.names.push_back(canonical_name(arch, id));
      group.weights_oi.push_back(model_.weight(id).to(at::kFloat).contiguous());
      const auto found =
          gradients_ ? gradients_->find(group.names.back()) : Gradients::const_iterator{};
      group.gradients.push_back(gradients_ && found != gradients_->end() ? &found->second
                                                                         : nullptr);
    }
    return group;
  }

  const QuantizeJob& job_;
  const std::vector<SurveyGroup>& groups_;
  const Gradients* gradients_;
  Model model_;
  std::vector<std::unique_ptr<Planner>> planners_;  ///< of each step; null without one
};

}  // namespace

std::vector<std::string> survey(const QuantizeJob& job, const std::vector<SurveyGroup>& groups,
                                const Gradients* gradients) {
  const c10::NoGradGuard no_grad;
  const std::span<const std::vector<int32_t>> all(job.calibration);
  CUPEL_CHECK(all.size() >= 2, user,
              "a step that plans needs at least two calibration samples, not ", all.size());
  const std::size_t held = std::clamp<std::size_t>(all.size() / 4, 1, kMostProbes);
  Surveyor surveyor(job, groups, gradients);
  surveyor.show_all(all.first(all.size() - held));
  return surveyor.finish(all.last(held));
}

}  // namespace cupel::core
