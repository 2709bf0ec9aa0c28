// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/cross_layer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace cupel::core {
namespace {

/// All pairs' <row, row> of [l, k], float64.
at::Tensor inner_products(const std::vector<at::Tensor>& rows) {
  if (rows.empty()) return at::zeros({0, 0}, at::kDouble);
  const at::Tensor all = at::stack(rows).to(at::kDouble);
  return at::matmul(all, all.t());
}

/// Inner products of different signed sums, [r * r] without the diagonal: over independent sums a
/// and b, E[x'_a.x'_b y'_a.y'_b] = |X^T Y|^2, while a = b would add |X|^2 |Y|^2.
at::Tensor different_sums(const at::Tensor& sketch_rk) {
  const at::Tensor gram_rr = at::matmul(sketch_rk, sketch_rk.t());
  return (gram_rr * (1 - at::eye(gram_rr.size(0), gram_rr.options()))).reshape({-1});
}

/// The part of a damage vector [r * r] that the first, or the second, half of the signed sums of
/// both sides gives, scaled so that inner products have the same expectation.
at::Tensor half(const at::Tensor& v, bool second) {
  const auto r = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(v.numel()))));
  const int64_t h = r / 2, from = second ? h : 0;
  const at::Tensor block = v.reshape({r, r}).slice(0, from, from + h).slice(1, from, from + h);
  return (block * (static_cast<double>(r) / static_cast<double>(h))).reshape({-1});
}

std::string type_of(const std::string& name) {
  const std::string stem = name.substr(0, name.rfind(".weight"));
  return stem.substr(stem.rfind('.') + 1);
}

}  // namespace

double Damage::alone() const {
  return 0.5 * pairs_lm.trace().item<double>();
}

double Damage::together() const {
  return 0.5 * pairs_lm.sum().item<double>();
}

at::Tensor damage_vector(const GradientStats& stats, const at::Tensor& change_oi) {
  CUPEL_ASSERT(stats.input_sketch_ri.defined() && stats.text_tokens > 0);
  const auto device = change_oi.device();
  const at::Tensor m_rr =
      at::matmul(at::matmul(stats.gradient_sketch_ro.to(device), change_oi.to(at::kFloat)),
                 stats.input_sketch_ri.to(device).t());
  // Of t^2 one t is the text's: an expert's damage counts as often as tokens reach it.
  const double tokens =
      std::sqrt(static_cast<double>(stats.tokens) * static_cast<double>(stats.text_tokens));
  return (m_rr / (static_cast<double>(m_rr.size(0)) * tokens)).reshape({-1}).cpu();
}

Damage predicted_damage(const Gradients& gradients, const Changes& changes) {
  const c10::NoGradGuard no_grad;
  Damage out;
  std::vector<at::Tensor> vectors;
  for (const auto& [name, change_oi] : changes) {
    const auto found = gradients.find(name);
    if (found == gradients.end()) continue;
    out.names.push_back(name);
    vectors.push_back(damage_vector(found->second, change_oi));
  }
  out.pairs_lm = inner_products(vectors);
  return out;
}

Damage sampled_damage(Model& model, const std::vector<std::vector<int32_t>>& sequences,
                      const Changes& changes, const Rng& rng) {
  const c10::NoGradGuard no_grad;
  Damage out;
  for (const auto& [name, change_oi] : changes) out.names.push_back(name);
  const auto count = static_cast<int64_t>(out.names.size());
  out.pairs_lm = at::zeros({count, count}, at::kDouble);
  int64_t tokens = 0;
  for (std::size_t n = 0; n < sequences.size(); ++n) {
    const Gradients found = collect_gradients(model, {sequences[n]}, {.fisher = true},
                                              rng.child(static_cast<uint64_t>(n)));
    at::Tensor c_l = at::zeros({count}, at::kDouble);
    for (int64_t l = 0; l < count; ++l) {
      const auto g = found.find(out.names[static_cast<std::size_t>(l)]);
      if (g == found.end()) continue;  // an expert that this sequence did not reach
      c_l[l].fill_((g->second.gradient_oi * changes.at(g->first)).sum(at::kDouble));
    }
    out.pairs_lm.add_(at::matmul(c_l.unsqueeze(1), c_l.unsqueeze(0)));
    tokens += static_cast<int64_t>(sequences[n].size());
  }
  out.pairs_lm.div_(static_cast<double>(std::max<int64_t>(1, tokens)));
  return out;
}

at::Tensor correlations(std::span<const SketchedMatrix> matrices) {
  at::Tensor squares;  // |A_lm|^2 |B_lm|^2, up to a factor of each matrix
  for (const bool inputs : {true, false}) {
    std::vector<at::Tensor> rows;
    for (const SketchedMatrix& m : matrices)
      rows.push_back(
          different_sums(inputs ? m.stats->input_sketch_ri : m.stats->gradient_sketch_ro));
    const at::Tensor side = inner_products(rows).clamp_min(0);
    squares = squares.defined() ? squares * side : side;
  }
  const at::Tensor norms = squares.diagonal().sqrt().clamp_min(1e-300).sqrt();
  return squares.sqrt() / norms.unsqueeze(1) / norms.unsqueeze(0);
}

std::vector<Sensitivity> sensitivities(std::span<const SketchedMatrix> matrices) {
  const at::Tensor rho_lm = correlations(matrices);
  const auto count = static_cast<int64_t>(matrices.size());
  std::vector<Sensitivity> out;
  for (int64_t l = 0; l < count; ++l) {
    const auto& [name, stats] = matrices[static_cast<std::size_t>(l)];
    const int64_t weights = stats->input_sketch_ri.size(1) * stats->gradient_sketch_ro.size(1);
    const double tokens =
        static_cast<double>(stats->tokens) * static_cast<double>(stats->text_tokens);
    const double others = (rho_lm[l].sum() - rho_lm[l][l]).item<double>();
    out.push_back({.name = name,
                   .weights = weights,
                   .own = stats->input_energy * stats->gradient_energy /
                          (tokens * static_cast<double>(weights)),
                   .shared = others / static_cast<double>(std::max<int64_t>(1, count - 1))});
  }
  return out;
}

std::vector<Sensitivity> by_type(std::span<const Sensitivity> matrices) {
  std::map<std::string, std::vector<const Sensitivity*>> types;
  for (const Sensitivity& m : matrices) types[type_of(m.name)].push_back(&m);
  std::vector<Sensitivity> out;
  for (const auto& [type, members] : types) {
    Sensitivity mean{.name = type};
    for (const Sensitivity* m : members) {
      mean.weights += m->weights;
      mean.own += m->own / static_cast<double>(members.size());
      mean.shared += m->shared / static_cast<double>(members.size());
    }
    out.push_back(mean);
  }
  std::ranges::sort(out, std::greater(), &Sensitivity::own);
  return out;
}

Couplings couplings(const std::vector<std::vector<at::Tensor>>& vectors,
                    const std::vector<Ladder>& ladders) {
  std::vector<at::Tensor> whole, first, second;  // cosines are inner products of their rows
  std::vector<double> scales, units;             // 2 cos sqrt(J J') = cos scale scale'
  at::Tensor any = at::zeros({4}, at::kFloat);
  for (const auto& unit : vectors)
    for (const at::Tensor& v : unit) any = v.defined() ? v : any;
  for (std::size_t u = 0; u < vectors.size(); ++u)
    for (std::size_t r = 0; r < vectors[u].size(); ++r) {
      const at::Tensor v = vectors[u][r].defined() ? vectors[u][r] : at::zeros_like(any);
      const double norm = v.norm().item<double>();
      const at::Tensor unit_v = norm > 0 ? v / norm : v;
      whole.push_back(unit_v);
      first.push_back(half(unit_v, false));
      second.push_back(half(unit_v, true));
      scales.push_back(std::sqrt(2 * std::max(0.0, ladders[u].rungs[r].cost)));
      units.push_back(static_cast<double>(u));
    }
  const at::Tensor cosines = inner_products(whole);
  const at::Tensor scale_k = at::tensor(scales, at::kDouble),
                   unit_k = at::tensor(units, at::kDouble);
  const at::Tensor other = unit_k.unsqueeze(1).ne(unit_k.unsqueeze(0)).to(at::kDouble);
  const double agreed =
      (inner_products(first) * inner_products(second) * other).sum().item<double>();
  const double all = (cosines.square() * other).sum().item<double>();
  Couplings out{.values = {}, .reliability = all > 0 ? std::clamp(agreed / all, 0.0, 1.0) : 0};
  const at::Tensor values =
      (cosines * scale_k.unsqueeze(1) * scale_k.unsqueeze(0) * out.reliability)
          .to(at::kFloat)
          .contiguous();
  out.values.assign(values.const_data_ptr<float>(),
                    values.const_data_ptr<float>() + values.numel());
  return out;
}

}  // namespace cupel::core
