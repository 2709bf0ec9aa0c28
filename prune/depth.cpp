// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Depth pruning by block influence, with an optional linear repair.
// Idea: a layer whose output points where its input pointed does little; what it did is close to
// linear in the MLP
//   output of the layer before, so it folds into that layer's down projection.
// Formula: influence of layers [s, e) = 1 - mean cos(h_s, h_e); with m the MLP output of layer s-1:
//   A = (M^T M + damp mean(diag) I)^-1 M^T (H_e - H_s), down <- (I + A)^T down.
// Source: Men et al., "ShortGPT" (influence); Shopkhoev et al., "ReplaceMe" (linear map).
// Cost: two forward passes over the probe; per run two [h, h] float64 sums and one Cholesky
// factorisation. Ours differs: the ridge shrinks towards plain removal; a repair that raises the
// loss on held-out probe text goes.
#include "prune/depth.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cholesky_solve.h>
#include <ATen/ops/cosine_similarity.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/error.h"

namespace cupel::prune {
namespace {

using core::Model;
using core::PrunePlan;
using format::Role;

/// Layers [begin, end) of the unpruned model.
struct Run {
  int begin = 0, end = 0;
  std::string name() const {
    return end - begin == 1 ? cat("layer ", begin) : cat("layers ", begin, "-", end - 1);
  }
};

std::vector<Run> runs_of(const std::vector<int>& layers) {
  std::vector<Run> runs;
  for (const int layer : layers) {
    if (!runs.empty() && runs.back().end == layer)
      ++runs.back().end;
    else
      runs.push_back({layer, layer + 1});
  }
  return runs;
}

/// The residual stream before each layer and behind the last, of one sequence: layers + 1 times [1,
/// t, h].
std::vector<at::Tensor> stream_of(Model& model, const at::Tensor& ids_nt) {
  std::vector<at::Tensor> h{model.embed(ids_nt)};
  for (int i = 0; i < model.layers(); ++i) h.push_back(model.block(i, h.back()));
  return h;
}

double cosine_sum(const at::Tensor& a, const at::Tensor& b) {
  return at::cosine_similarity(a.to(at::kDouble), b.to(at::kDouble), -1).sum().item<double>();
}

/// Influence of each layer, and of each run of `width` layers by its first one.
struct Influence {
  std::vector<double> layer, run;
};

Influence measure(Model& model, const at::Tensor& ids_nt, int width) {
  const int layers = model.layers();
  Influence out{std::vector<double>(layers), std::vector<double>(layers - width + 1)};
  for (int64_t n = 0; n < ids_nt.size(0); ++n) {
    const std::vector<at::Tensor> h = stream_of(model, ids_nt.slice(0, n, n + 1));
    for (int i = 0; i < layers; ++i) out.layer[i] += cosine_sum(h[i], h[i + 1]);
    for (int i = 0; i + width <= layers; ++i) out.run[i] += cosine_sum(h[i], h[i + width]);
  }
  for (std::vector<double>* scores : {&out.layer, &out.run})
    for (double& s : *scores) s = 1 - s / static_cast<double>(ids_nt.numel());
  return out;
}

std::vector<int> choose(const DepthParams& params, const Influence& influence, int layers) {
  const int first = static_cast<int>(params.protect_first), count = static_cast<int>(params.remove);
  const int end = layers - static_cast<int>(params.protect_last);
  std::vector<int> chosen(static_cast<std::size_t>(count));
  if (params.contiguous) {
    const auto begin = influence.run.begin();
    const auto best = std::min_element(begin + first, begin + (end - count + 1));
    std::iota(chosen.begin(), chosen.end(), static_cast<int>(best - begin));
    return chosen;
  }
  std::vector<int> order(static_cast<std::size_t>(end - first));
  std::iota(order.begin(), order.end(), first);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return influence.layer[a] < influence.layer[b]; });
  std::copy_n(order.begin(), count, chosen.begin());
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// Why the matrix before a run cannot take over its work; "" if it can.
std::string obstacle(const format::ModelConfig& config, const Run& run) {
  if (run.begin == 0) return "no layer comes before";
  if (config.kind(run.begin - 1).sparse) return "the layer before it has experts";
  if (config.mlp_bias || config.post_norm) return "the MLP before it ends in a bias or a norm";
  return "";
}

/// float64 sums of one run's least squares problem.
struct NormalEquations {
  at::Tensor mm_hh, mz_hh;
};

std::vector<NormalEquations> accumulate(Model& model, const at::Tensor& ids_nt,
                                        const std::vector<Run>& runs) {
  const int64_t width = model.config().hidden;
  const auto options = at::TensorOptions(at::kDouble).device(model.options().device);
  std::vector<NormalEquations> sums;
  for (std::size_t r = 0; r < runs.size(); ++r)
    sums.push_back({at::zeros({width, width}, options), at::zeros({width, width}, options)});
  for (int64_t n = 0; n < ids_nt.size(0); ++n) {
    std::vector<at::Tensor> h{model.embed(ids_nt.slice(0, n, n + 1))};
    std::vector<at::Tensor> m(static_cast<std::size_t>(model.layers()));
    for (int i = 0; i < model.layers(); ++i) {
      const auto tap = [&](const format::WeightId& first, const at::Tensor& u_nti) {
        if (first.role == Role::down)
          m[static_cast<std::size_t>(i)] = at::linear(u_nti, model.layer(i).of(Role::down));
        return true;
      };
      h.push_back(model.block(i, h.back(), tap));
    }
    for (std::size_t r = 0; r < runs.size(); ++r) {
      if (!obstacle(model.config(), runs[r]).empty()) continue;
      const at::Tensor m_th = m[runs[r].begin - 1][0].to(at::kDouble);
      const at::Tensor z_th =
          (h[runs[r].end].to(at::kDouble) - h[runs[r].begin].to(at::kDouble))[0];
      sums[r].mm_hh += at::matmul(m_th.t(), m_th);
      sums[r].mz_hh += at::matmul(m_th.t(), z_th);
    }
  }
  return sums;
}

/// (I + A)^T down, or nothing if the equations can't be solved.
std::optional<at::Tensor> repaired(const NormalEquations& sums, const at::Tensor& down_oi,
                                   double damp) {
  const at::Tensor eye = at::eye(sums.mm_hh.size(0), sums.mm_hh.options());
  const at::Tensor damped = sums.mm_hh + eye * (damp * sums.mm_hh.diagonal().mean());
  const auto [factor, info] = at::linalg_cholesky_ex(damped);
  if (info.item<int>() != 0) return std::nullopt;
  const at::Tensor a_hh = at::cholesky_solve(sums.mz_hh, factor);
  const at::Tensor down = at::matmul((eye + a_hh).t(), down_oi.to(at::kDouble));
  return down.to(at::kCPU, at::kFloat);
}

/// Mean negative log-likelihood of the next token under the pruned model.
double loss_under(const PrunePlan& plan, Model model, const at::Tensor& ids_nt) {
  core::apply(plan, model);  // on a copy: its weights are replaced, not written
  double sum = 0;
  for (int64_t n = 0; n < ids_nt.size(0); ++n) {
    const at::Tensor logits_tv =
        model.forward(ids_nt.slice(0, n, n + 1))[0].slice(0, 0, -1).to(at::kFloat);
    const at::Tensor next_t = ids_nt[n].slice(0, 1);
    sum += at::cross_entropy_loss(logits_tv, next_t).item<double>();
  }
  return sum / static_cast<double>(ids_nt.size(0));
}

/// Adds a replacement for each run that can be repaired, with a note for each that can't.
void repair(const DepthParams& params, Model& model, const at::Tensor& ids_nt, PrunePlan& plan) {
  // A quarter of the sequences decides whether the repair helps; without a second sequence there is
  // no such check.
  const int64_t held = ids_nt.size(0) > 1 ? std::max<int64_t>(1, ids_nt.size(0) / 4) : 0;
  const at::Tensor fit_nt = ids_nt.slice(0, 0, ids_nt.size(0) - held);
  const std::vector<Run> runs = runs_of(plan.remove_layers);
  const std::vector<NormalEquations> sums = accumulate(model, fit_nt, runs);
  PrunePlan with = plan;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (const std::string why = obstacle(model.config(), runs[r]); !why.empty()) {
      with.notes.push_back(cat(runs[r].name(), ": removed without repair, ", why));
      continue;
    }
    const format::WeightId id{Role::down, runs[r].begin - 1};
    const auto down_oi = repaired(sums[r], model.weight(id), params.damp);
    if (down_oi)
      with.replace[format::canonical_name(model.config().architecture(), id)] = *down_oi;
    else
      with.notes.push_back(runs[r].name() +
                           ": removed without repair, the least squares problem is singular");
  }
  if (held && !with.replace.empty()) {
    const at::Tensor held_nt = ids_nt.slice(0, ids_nt.size(0) - held);
    const double plain = loss_under(plan, model, held_nt),
                 fixed_up = loss_under(with, model, held_nt);
    const bool helps = fixed_up < plain;
    with.notes.push_back(cat("loss on held-out probe text: ", fixed(plain, 4), " without repair, ",
                             fixed(fixed_up, 4), " with it", helps ? "" : "; left unrepaired"));
    if (!helps) with.replace.clear();
  }
  plan = std::move(with);
}

}  // namespace

void DepthParams::visit(ParamVisitor& v) {
  v.field("score", score, {{"block-influence", 0}}, "what ranks the layers");
  v.field("remove", remove, "layers to take out").in(1, 1000);
  v.field("contiguous", contiguous,
          "the run of layers with the least influence; false: the least ones one by one");
  v.field("repair", repair, {{"none", 0}, {"linear", 1}},
          "linear: fold a least squares map into the layer before");
  v.field("damp", damp, "share of the mean diagonal added to the least squares problem").in(0, 100);
  v.field("protect_first", protect_first, "layers at the start that stay").in(0, 1000);
  v.field("protect_last", protect_last, "layers at the end that stay").in(0, 1000);
}

PrunePlan Depth::plan(Model& model, const core::Probe& probe) const {
  const c10::NoGradGuard no_grad;
  const int64_t removable = model.layers() - params_.protect_first - params_.protect_last;
  CUPEL_CHECK(params_.remove <= removable, user, "prune.depth: remove is ", params_.remove,
              ", but of ", model.layers(), " layers only ", std::max<int64_t>(0, removable),
              " may go (protect_first ", params_.protect_first, ", protect_last ",
              params_.protect_last, ")");
  const int width = params_.contiguous ? static_cast<int>(params_.remove) : 1;
  const Influence influence = measure(model, probe.ids_nt, width);
  PrunePlan plan;
  plan.score_name = "block influence";
  plan.scores = influence.layer;
  plan.remove_layers = choose(params_, influence, model.layers());
  if (params_.repair == DepthRepair::linear) repair(params_, model, probe.ids_nt, plan);
  return plan;
}

}  // namespace cupel::prune
