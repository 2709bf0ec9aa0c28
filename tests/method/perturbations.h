// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/code.h"
#include "core/feedback.h"
#include "core/gradients.h"
#include "core/input_moments.h"
#include "core/tensor_util.h"
#include "quant/output_metric.h"

/// Does J say how much a model suffers? One matrix at a time is rounded, its input, or both, and J
/// is put beside the divergence that follows.
namespace cupel::quant::testing {

/// Spearman's correlation of ranks; ties have their mean rank.
inline double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& of) {
    std::vector<double> r(of.size());
    for (std::size_t i = 0; i < of.size(); ++i)
      for (std::size_t j = 0; j < of.size(); ++j)
        r[i] += of[j] < of[i] ? 1 : of[j] == of[i] ? 0.5 : 0;
    return r;
  };
  const auto mean = [](const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mx = mean(x), my = mean(y);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xy / std::sqrt(xx * yy);
}

struct Perturbation {
  format::WeightId id;
  int weight_bits = 0, input_bits = 0;  ///< 0: as it is
};

struct Outcome {
  double divergence = 0;                        ///< KL, nats per token, on text that J has not seen
  double identity = 0, diagonal = 0, full = 0;  ///< J by what is kept of G
};

class Perturber {
 public:
  using Texts = std::vector<std::vector<int32_t>>;
  /// The model is as before after each call.
  Perturber(core::Model& model, Texts fitted, const Texts& judged)
      : model_(model), fitted_(std::move(fitted)) {
    const c10::NoGradGuard no_grad;
    gradients_ = core::collect_gradients(model, fitted_, {.output_moment = true}, Rng(3, "labels"));
    for (const auto& ids : judged) {
      hidden_.push_back({model.embed(core::ids_tensor(ids, model.options().device))});
      for (int l = 0; l < model.layers(); ++l)
        hidden_.back().push_back(model.block(l, hidden_.back().back()));
      logs_.push_back(at::log_softmax(model.logits(hidden_.back().back()), -1));
    }
  }

  Outcome of(const Perturbation& p) {
    const c10::NoGradGuard no_grad;
    const std::string name = canonical_name(model_.config().architecture(), p.id);
    const at::Tensor w_oi = model_.weight(p.id).to(at::kFloat).clone();
    at::Tensor v_oi = w_oi;
    if (p.weight_bits > 0) {
      const auto layout =
          format::make_layout("uniform", cat("{\"bits\":", p.weight_bits, ",\"group\":64}"));
      v_oi = core::decode(
          core::encode(*core::make_code(layout, core::ScaleRule::mse), w_oi, {}, nullptr));
    }
    format::RoundedInput input;
    if (p.input_bits > 0)
      input.rounding = {format::InputRounding::Numbers::integer, p.input_bits, 0, 0};
    core::InputMoments moments;
    core::add_moments(core::input_pair(inputs_of(p.id), inputs_of(p.id), input), moments);
    const auto loss = [&](const OutputMetric& g) { return OutputLoss(g, w_oi, moments).of(v_oi); };
    const auto metric = [&](OutputForm form) {
      return OutputMetric(gradients_.at(name), form, 0.01, 8192, 0, at::kCPU);
    };
    Outcome out{.identity = loss(OutputMetric(w_oi.size(0))),
                .diagonal = loss(metric(OutputForm::diagonal)),
                .full = loss(metric(OutputForm::full))};
    model_.set_weight(p.id, v_oi);
    model_.set_input(p.id, input);
    out.divergence = divergence(p.id.layer);
    model_.set_weight(p.id, w_oi);
    model_.set_input(p.id, {});
    return out;
  }

 private:
  /// [t, i] of all fitted texts; those of the last layer that was asked for are kept.
  at::Tensor inputs_of(const format::WeightId& id) {
    if (layer_ != id.layer) {
      layer_ = id.layer;
      inputs_.clear();
      std::map<format::WeightId, std::vector<at::Tensor>> parts;
      for (const auto& ids : fitted_) {
        at::Tensor x = model_.embed(core::ids_tensor(ids, model_.options().device));
        for (int l = 0; l < id.layer; ++l) x = model_.block(l, x);
        model_.block(id.layer, x, [&](const format::WeightId& first, const at::Tensor& x_i) {
          parts[first].push_back(x_i.reshape({-1, x_i.size(-1)}).to(at::kFloat));
          return true;
        });
      }
      for (const auto& group : format::input_groups(model_.config(), id.layer))
        for (const format::WeightId& member : group)
          inputs_[member] = at::cat(parts.at(group.front()), 0);
    }
    return inputs_.at(id);
  }

  double divergence(int from_layer) {
    double sum = 0, tokens = 0;
    for (std::size_t n = 0; n < hidden_.size(); ++n) {
      at::Tensor x = hidden_[n][static_cast<std::size_t>(from_layer)];
      for (int l = from_layer; l < model_.layers(); ++l) x = model_.block(l, x);
      const at::Tensor now = at::log_softmax(model_.logits(x), -1);
      sum += (logs_[n].exp() * (logs_[n] - now)).sum(at::kDouble).item<double>();
      tokens += static_cast<double>(x.size(1));
    }
    return sum / tokens;
  }

  core::Model& model_;
  Texts fitted_;
  core::Gradients gradients_;
  std::vector<std::vector<at::Tensor>> hidden_;  ///< of each judged text, before each layer
  std::vector<at::Tensor> logs_;                 ///< log probabilities of the original
  int layer_ = -1;
  std::map<format::WeightId, at::Tensor> inputs_;
};

/// Matrix after matrix of layers [0, layers): weights, inputs, both, with bits drawn from 2 to 5.
inline std::vector<Perturbation> draw_perturbations(const format::ModelConfig& config, int layers,
                                                    int of_each, Rng rng) {
  std::vector<Perturbation> all;
  for (int layer = 0; layer < layers; ++layer)
    for (const auto& group : format::input_groups(config, layer))
      for (const format::WeightId& id : group)
        for (int n = 0; n < of_each; ++n) {
          const auto kind = rng.below(3);
          const auto bits = [&] { return 2 + static_cast<int>(rng.below(4)); };
          all.push_back({id, kind != 1 ? bits() : 0, kind != 0 ? bits() : 0});
        }
  return all;
}

}  // namespace cupel::quant::testing
