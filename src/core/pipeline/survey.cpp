// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pipeline/survey.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

constexpr std::size_t kMostProbes = 8;  // samples: the divergence of 2048 tokens ranks plans well
constexpr int64_t kLogitRows = 256;

at::Tensor ids_of(const std::vector<int32_t>& sample, at::Device device) {
  at::Tensor ids = at::empty({1, static_cast<int64_t>(sample.size())}, at::kLong);
  std::copy(sample.begin(), sample.end(), ids.mutable_data_ptr<int64_t>());
  return ids.to(device);
}

/// Divergence of a changed model on the samples that were held out.
class Probe {
 public:
  Probe(const Model& model, const std::vector<std::vector<int32_t>>& samples) : model_(model) {
    for (const auto& sample : samples) {
      inputs_.emplace_back();
      ids_.push_back(ids_of(sample, model_.options().device));
      at::Tensor x = model_.embed(ids_.back());
      for (int l = 0; l < model_.layers(); ++l) {
        inputs_.back().push_back(x);
        x = model_.block(l, x);
      }
      inputs_.back().push_back(x);
    }
  }

  double operator()(const std::map<std::string, at::Tensor>& replaced) {
    const auto& arch = model_.config().architecture();
    int first = model_.layers();
    bool embedding = false;
    std::vector<std::pair<format::WeightId, at::Tensor>> before;
    for (const auto& [name, value] : replaced) {
      const auto id = format::id_of_canonical(arch, name);
      CUPEL_ASSERT(id.has_value());
      if (id->layer >= 0) first = std::min(first, id->layer);
      embedding = embedding || id->role == format::Role::embedding;
      before.emplace_back(*id, model_.weight(*id));
      model_.set_weight(*id, value);
    }
    double sum = 0;
    int64_t tokens = 0;
    for (std::size_t s = 0; s < inputs_.size(); ++s) {
      const auto& inputs = inputs_[s];
      const int from = embedding ? 0 : first;
      at::Tensor x = embedding ? model_.embed(ids_[s]) : inputs[static_cast<std::size_t>(first)];
      for (int l = from; l < model_.layers(); ++l) x = model_.block(l, x);
      sum += divergence(inputs.back(), x, before);
      tokens += x.size(1);
    }
    for (auto& [id, value] : before) model_.set_weight(id, value);
    return sum / static_cast<double>(std::max<int64_t>(1, tokens));
  }

 private:
  /// Summed over the positions of one sample. The original head reads the original hidden states.
  double divergence(const at::Tensor& original, const at::Tensor& changed,
                    const std::vector<std::pair<format::WeightId, at::Tensor>>& before) {
    double sum = 0;
    for (int64_t t = 0; t < original.size(1); t += kLogitRows) {
      const int64_t end = std::min(original.size(1), t + kLogitRows);
      const at::Tensor q = logs(changed.slice(1, t, end));
      for (const auto& [id, value] : before)
        if (id.layer < 0) std::swap(model_.weight(id), const_cast<at::Tensor&>(value));
      const at::Tensor p = logs(original.slice(1, t, end));
      for (const auto& [id, value] : before)
        if (id.layer < 0) std::swap(model_.weight(id), const_cast<at::Tensor&>(value));
      sum += (p.exp() * (p - q)).to(at::kDouble).sum().item<double>();
    }
    return sum;
  }
  at::Tensor logs(const at::Tensor& x_nth) {
    return at::log_softmax(model_.logits(x_nth).to(at::kFloat), -1);
  }

  Model model_;
  std::vector<at::Tensor> ids_;                  ///< [1, t] of each sample
  std::vector<std::vector<at::Tensor>> inputs_;  ///< of each sample: the input of each block, and
                                                 ///< what the last one gives
};

}  // namespace

std::string group_id(const format::Architecture& arch, const format::WeightId& first) {
  std::string id = canonical_name(arch, first);
  const std::string suffix = ".weight";
  if (id.ends_with(suffix)) id.resize(id.size() - suffix.size());
  return id;
}

std::vector<std::string> survey(const QuantizeJob& job, const std::vector<SurveyGroup>& groups,
                                const Gradients* gradients) {
  const c10::NoGradGuard no_grad;
  std::vector<std::string> plans(job.steps.size());
  std::vector<std::unique_ptr<Planner>> planners;
  for (std::size_t s = 0; s < job.steps.size(); ++s)
    planners.push_back(job.steps[s].quantizer->planner(Rng(job.seed, cat("plan ", s))));
  const std::size_t all = job.calibration.size();
  CUPEL_CHECK(all >= 2, user, "a step that plans needs at least two calibration samples, not ",
              all);
  const std::size_t held = std::clamp<std::size_t>(all / 4, 1, kMostProbes);
  const std::vector<std::vector<int32_t>> seen(job.calibration.begin(),
                                               job.calibration.end() - static_cast<int64_t>(held));
  const std::vector<std::vector<int32_t>> kept(job.calibration.end() - static_cast<int64_t>(held),
                                               job.calibration.end());
  Model model = job.model;
  const auto& arch = model.config().architecture();
  std::vector<at::Tensor> hidden;
  for (const auto& sample : seen)
    hidden.push_back(model.embed(ids_of(sample, model.options().device)));
  const auto show = [&](const SurveyGroup& g, const Stats& stats) {
    MatrixGroup group;
    group.id = group_id(arch, g.weights.front());
    for (const auto& id : g.weights) {
      group.names.push_back(canonical_name(arch, id));
      group.weights_oi.push_back(model.weight(id).to(at::kFloat).contiguous());
      const GradientStats* found = nullptr;
      if (gradients)
        if (const auto at = gradients->find(group.names.back()); at != gradients->end())
          found = &at->second;
      group.gradients.push_back(found);
    }
    in_frame(cat("planning ", group.id), [&] { planners[g.step]->add(group, stats); });
  };
  for (int layer = 0; layer <= model.layers(); ++layer) {
    const bool outside = layer == model.layers();
    std::map<std::size_t, Stats> stats;  // by group
    const auto tap = [&](const format::WeightId& first, const at::Tensor& x) {
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (groups[g].first == first && planners[groups[g].step])
          stats[g].add(job.steps[groups[g].step].quantizer->needs(), x);
      return true;
    };
    for (at::Tensor& x : hidden) {
      if (!outside) x = model.block(layer, x, tap);
      if (!outside) continue;
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (groups[g].first.layer < 0 && planners[groups[g].step] &&
            (groups[g].first.role != format::Role::embedding || model.config().tied_head))
          stats[g].add(job.steps[groups[g].step].quantizer->needs(), model.normalized(x));
    }
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (planners[groups[g].step] && groups[g].first.layer == (outside ? -1 : layer))
        show(groups[g], stats[g]);
  }
  const auto probe = std::make_shared<Probe>(model, kept);
  for (std::size_t s = 0; s < planners.size(); ++s)
    if (planners[s])
      plans[s] = planners[s]->finish([probe](const std::map<std::string, at::Tensor>& replaced) {
        return (*probe)(replaced);
      });
  return plans;
}

}  // namespace cupel::core
