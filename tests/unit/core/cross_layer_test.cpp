// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Damage of changes in several matrices, from the full Fisher information of a toy down to the
// sketch: full Fisher = measured divergence; sampled gradients = full Fisher; sketch = Kronecker
// moments of all pairs; Kronecker = Fisher where inputs are one and the same.
#include "core/cross_layer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <gtest/gtest.h>

#include <cmath>

#include "base/cat.h"
#include "tests/unit/core/quant_data.h"
#include "tests/unit/core/tiny_model.h"

namespace cupel::core {
namespace {

using Ids = std::vector<int32_t>;

format::ModelConfig toy_config() {
  format::ModelConfig c = tiny_config();
  c.vocab = 7;
  c.hidden = 8;
  c.layers = 2;
  c.heads = 2;
  c.kv_heads = 1;
  c.head_dim = 4;
  c.intermediate = 8;
  return c;
}

Ids text(int64_t tokens, int64_t vocab, uint64_t seed) {
  const at::Tensor ids = random_ids(1, tokens, vocab, seed).to(at::kInt);
  return {ids.const_data_ptr<int32_t>(), ids.const_data_ptr<int32_t>() + tokens};
}

std::vector<std::string> matrix_names(Model& model) {
  std::vector<std::string> out;
  for (const auto& [name, w] : model.named_weights())
    if (w.dim() == 2 && name.find(".layers.") != std::string::npos) out.push_back(name);
  return out;
}

/// Noise of equal relative size in every matrix of the decoder.
Changes noise(Model& model, double scale) {
  Changes out;
  for (const std::string& name : matrix_names(model)) {
    const at::Tensor w =
        model.weight(*format::id_of_canonical(model.config().architecture(), name));
    const at::Tensor n = testing::normals(w.sizes(), name).to(w.scalar_type());
    out[name] = n * (scale * w.norm() / n.norm());
  }
  return out;
}

at::Tensor log_probabilities(Model& model, const Ids& ids) {
  return at::log_softmax(model.forward(ids_tensor(ids, at::kCPU))[0].to(at::kDouble), -1);
}

/// K from the full Fisher information: every label of every position, weighed by its probability.
at::Tensor fisher_pairs(Model model, const Ids& ids, const Changes& changes) {
  const c10::AutoGradMode with_gradients(true);
  std::vector<at::Tensor> leaves, flat;
  for (const auto& [name, change] : changes) {
    const auto id = *format::id_of_canonical(model.config().architecture(), name);
    leaves.push_back(model.weight(id).detach().clone().requires_grad_(true));
    model.set_weight(id, leaves.back());
    flat.push_back(change.reshape({-1}));
  }
  const int64_t weights = at::cat(flat).numel();
  at::Tensor fisher = at::zeros({weights, weights}, at::kDouble);
  const auto tokens = static_cast<int64_t>(ids.size());
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t v = 0; v < model.config().vocab; ++v) {
      for (at::Tensor& leaf : leaves) leaf.mutable_grad() = at::Tensor();
      const at::Tensor log_p = log_probabilities(model, ids)[t][v];
      log_p.backward();
      std::vector<at::Tensor> score;
      for (const at::Tensor& leaf : leaves)
        score.push_back((leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf)).reshape({-1}));
      const at::Tensor s = at::cat(score);
      fisher.add_(at::matmul(s.unsqueeze(1), s.unsqueeze(0)) * log_p.detach().exp());
    }
  std::vector<at::Tensor> columns;
  int64_t offset = 0;
  for (const at::Tensor& change : flat) {
    at::Tensor column = at::zeros({weights}, at::kDouble);
    column.slice(0, offset, offset + change.numel()).copy_(change);
    offset += change.numel();
    columns.push_back(column);
  }
  const at::Tensor c = at::stack(columns, 1);
  return at::matmul(c.t(), at::matmul(fisher, c)) / static_cast<double>(tokens);
}

/// K of noise as large as sqrt(K_ll K_mm): what an error is compared with.
at::Tensor scales(const at::Tensor& pairs) {
  const at::Tensor own = pairs.diagonal().sqrt();
  return own.unsqueeze(1) * own.unsqueeze(0);
}

/// Inputs [t, i] and output gradients [t, o] of each matrix in one backward pass of the whole
/// model, all sequences after one another.
std::map<std::string, std::pair<at::Tensor, at::Tensor>> tokens_of(Model& model,
                                                                   const std::vector<Ids>& texts,
                                                                   const Rng& rng) {
  const c10::AutoGradMode with_gradients(true);
  std::map<std::string, std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>>> parts;
  for (std::size_t n = 0; n < texts.size(); ++n) {
    std::map<std::string, at::Tensor> probes;
    at::Tensor x = model.embed(ids_tensor(texts[n], at::kCPU));
    for (int l = 0; l < model.layers(); ++l)
      x = model.block(l, x, {}, nullptr, [&](const format::WeightId& id, const auto& in, auto& y) {
        if (!format::is_matrix(id.role)) return y;
        const std::string name = canonical_name(model.config().architecture(), id);
        parts[name].first.push_back(in.detach().reshape({-1, in.size(-1)}));
        probes[name] = at::zeros_like(y).requires_grad_(true);
        return y + probes[name];
      });
    const at::Tensor logits_tv = model.logits(x)[0];
    const at::Tensor labels = drawn_labels(logits_tv, rng.child(static_cast<uint64_t>(n)));
    (-at::log_softmax(logits_tv.to(at::kFloat), -1).gather(-1, labels).sum()).backward();
    for (const auto& [name, probe] : probes)
      parts[name].second.push_back(probe.grad().reshape({-1, probe.size(-1)}));
  }
  std::map<std::string, std::pair<at::Tensor, at::Tensor>> out;
  for (const auto& [name, p] : parts)
    out[name] = {at::cat(p.first).to(at::kDouble), at::cat(p.second).to(at::kDouble)};
  return out;
}

TEST(CrossLayer, FullFisherOfAToyIsTheMeasuredDivergence) {
  Model model = lively_model(toy_config(), 5, at::kDouble);
  const Ids ids = text(5, 7, 1);
  const Changes changes = noise(model, 1e-3);
  const double predicted = 0.5 * fisher_pairs(model.clone(), ids, changes).sum().item<double>();
  const at::Tensor before = log_probabilities(model, ids);
  Model changed = model.clone();
  for (const auto& [name, change] : changes) {
    const auto id = *format::id_of_canonical(model.config().architecture(), name);
    changed.set_weight(id, changed.weight(id) + change);
  }
  const double measured =
      (before.exp() * (before - log_probabilities(changed, ids))).sum().item<double>() / 5;
  EXPECT_NEAR(predicted, measured, 0.02 * measured);
}

TEST(CrossLayer, GradientsOfSequencesGiveTheFullFisher) {
  Model model = lively_model(toy_config(), 5, at::kDouble);
  const Ids ids = text(5, 7, 1);
  const Changes changes = noise(model, 0.1);
  constexpr int kDraws = 800;
  const Damage found =
      sampled_damage(model, std::vector<Ids>(kDraws, ids), changes, Rng(3, "labels"));
  const at::Tensor exact = fisher_pairs(model.clone(), ids, changes);
  const double largest = ((found.pairs_lm - exact) / scales(exact)).abs().max().item<double>();
  EXPECT_LT(largest, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(found.together(), 0.5 * exact.sum().item<double>(),
              5 * std::sqrt(2.0 / kDraws) * found.together());
  // The cross terms are there: without them the prediction would be another.
  EXPECT_GT(std::abs(found.together() - found.alone()), 0.1 * found.alone());
}

TEST(CrossLayer, GradientsOfOneSequenceAreThoseOfTheWholeGraph) {
  Model model = lively_model(tiny_config(), 5, at::kDouble);
  const Ids ids = text(9, 37, 2);
  const Changes changes = noise(model, 0.1);
  const Damage found = sampled_damage(model, {ids}, changes, Rng(3, "labels"));
  const auto tokens = tokens_of(model, {ids}, Rng(3, "labels").child(uint64_t{0}));
  std::vector<at::Tensor> c;
  for (const std::string& name : found.names) {
    const auto& [x_ti, g_to] = tokens.at(name);
    c.push_back((at::matmul(g_to, changes.at(name)) * x_ti).sum());
  }
  const at::Tensor c_l = at::stack(c);
  const at::Tensor expected = at::matmul(c_l.unsqueeze(1), c_l.unsqueeze(0)) / 9;
  EXPECT_LT((found.pairs_lm - expected).norm().item<double>(),
            1e-4 * expected.norm().item<double>());
}

/// Errors of the sketch of several seeds against the moments of all pairs, as shares of
/// sqrt(K_ll K_mm): [seed, l, m].
at::Tensor sketch_errors(int width, int seeds) {
  Model model = lively_model(tiny_config(), 5);
  std::vector<Ids> texts;
  for (uint64_t n = 0; n < 4; ++n) texts.push_back(text(24, 37, n));
  const Changes changes = noise(model, 0.1);
  std::vector<at::Tensor> errors;
  for (int seed = 0; seed < seeds; ++seed) {
    const Rng rng(static_cast<uint64_t>(seed), "labels");
    const Damage found =
        predicted_damage(collect_gradients(model, texts, {.sketch = width}, rng), changes);
    EXPECT_EQ(found.names.size(), changes.size());
    const auto tokens = tokens_of(model, texts, rng);
    std::vector<at::Tensor> rows;  // M_l = G_l dW_l X_l^T / t
    for (const std::string& name : found.names) {
      const auto& [x_ti, g_to] = tokens.at(name);
      rows.push_back((at::matmul(at::matmul(g_to, changes.at(name).to(at::kDouble)), x_ti.t()) /
                      static_cast<double>(x_ti.size(0)))
                         .reshape({-1}));
    }
    const at::Tensor m = at::stack(rows), exact = at::matmul(m, m.t());
    errors.push_back((found.pairs_lm - exact) / scales(exact));
  }
  return at::stack(errors);
}

TEST(CrossLayer, TheSketchGivesTheMomentsOfAllPairs) {
  constexpr int kSeeds = 24;
  const at::Tensor coarse = sketch_errors(16, kSeeds), fine = sketch_errors(256, kSeeds);
  // Between 1 / r and 2 / sqrt(r), by how many tokens hold the energy; these few hold it unevenly.
  EXPECT_LT(fine.square().mean().sqrt().item<double>(), 2 / std::sqrt(256.0));
  EXPECT_GT(coarse.square().mean().sqrt().item<double>(),
            3 * fine.square().mean().sqrt().item<double>());
  // Without bias: what all seeds have in common is no more than chance.
  const at::Tensor mean = coarse.mean(0);
  const at::Tensor chance = coarse.square().mean(0).sqrt() / std::sqrt(static_cast<double>(kSeeds));
  EXPECT_LT((mean / chance).square().mean().item<double>(), 2);
}

TEST(CrossLayer, KroneckerIsTheFisherWhereInputsAreAlwaysTheSame) {
  Model model = lively_model(toy_config(), 5, at::kDouble);
  const Ids one = {3};
  const Changes changes = noise(model, 0.1);
  constexpr int kDraws = 400, kWidth = 512;
  const Damage found = predicted_damage(
      collect_gradients(model, std::vector<Ids>(kDraws, one), {.sketch = kWidth}, Rng(4, "labels")),
      changes);
  const at::Tensor exact = fisher_pairs(model.clone(), one, changes);
  // With one token no score of attention can change: q and k do nothing at all.
  for (std::size_t l = 0; l < found.names.size(); ++l)
    for (std::size_t m = 0; m < found.names.size(); ++m) {
      const auto at_lm = [&](const at::Tensor& k) {
        return k[static_cast<int64_t>(l)][static_cast<int64_t>(m)].item<double>();
      };
      const double scale = at_lm(scales(exact));
      EXPECT_NEAR(at_lm(found.pairs_lm), at_lm(exact), 0.35 * scale + 1e-12)
          << found.names[l] << " " << found.names[m];
    }
}

TEST(CrossLayer, CorrelationsAreThoseOfTheMoments) {
  Model model = lively_model(tiny_config(), 5);
  std::vector<Ids> texts;
  for (uint64_t n = 0; n < 4; ++n) texts.push_back(text(24, 37, n));
  const Rng rng(3, "labels");
  const Gradients found = collect_gradients(model, texts, {.sketch = 512}, rng);
  std::vector<SketchedMatrix> matrices;
  for (const auto& [name, stats] : found) matrices.push_back({name, &stats});
  const at::Tensor rho = correlations(matrices);
  const auto tokens = tokens_of(model, texts, rng);
  double squares = 0;
  for (std::size_t l = 0; l < matrices.size(); ++l) {
    for (std::size_t m = 0; m < matrices.size(); ++m) {
      const auto& [xl, gl] = tokens.at(matrices[l].name);
      const auto& [xm, gm] = tokens.at(matrices[m].name);
      const auto norm = [](const at::Tensor& a, const at::Tensor& b) {
        return at::matmul(a.t(), b).norm().item<double>();
      };
      const double expected = norm(xl, xm) * norm(gl, gm) /
                              std::sqrt(norm(xl, xl) * norm(gl, gl) * norm(xm, xm) * norm(gm, gm));
      const double got = rho[static_cast<int64_t>(l)][static_cast<int64_t>(m)].item<double>();
      EXPECT_GE(got, 0);
      EXPECT_LE(got, 1 + 1e-9);
      squares += (got - expected) * (got - expected);
    }
  }
  EXPECT_LT(std::sqrt(squares / static_cast<double>(matrices.size() * matrices.size())), 0.08);
  for (const Sensitivity& s : sensitivities(matrices)) {
    const auto& [x_ti, g_to] = tokens.at(s.name);
    const double expected = x_ti.square().sum().item<double>() *
                            g_to.square().sum().item<double>() /
                            (96.0 * 96.0 * static_cast<double>(x_ti.size(1) * g_to.size(1)));
    EXPECT_NEAR(s.own, expected, 1e-4 * expected) << s.name;
    EXPECT_EQ(s.weights, x_ti.size(1) * g_to.size(1));
  }
}

TEST(CrossLayer, TypesComeInTheOrderOfTheirMeans) {
  const std::vector<Sensitivity> list = {{"model.layers.0.a.q_proj.weight", 10, 1, 0.5},
                                         {"model.layers.1.a.q_proj.weight", 10, 3, 0.1},
                                         {"model.layers.0.a.v_proj.weight", 4, 5, 0.2},
                                         {"model.layers.0.b.up_proj.weight", 9, 0.5, 0.2}};
  const auto types = by_type(list);
  ASSERT_EQ(types.size(), 3u);
  EXPECT_EQ(types[0].name, "v_proj");
  EXPECT_EQ(types[1].name, "q_proj");
  EXPECT_EQ(types[1].weights, 20);
  EXPECT_DOUBLE_EQ(types[1].own, 2);
  EXPECT_DOUBLE_EQ(types[1].shared, 0.3);
  EXPECT_EQ(types[2].name, "up_proj");
}

Ladder ladder_of(std::initializer_list<double> costs) {
  Ladder out;
  for (const double cost : costs) out.rungs.push_back({.bytes = 1, .cost = cost});
  return out;
}

TEST(CrossLayer, CouplingsAreTwiceTheCosineTimesTheMeanCost) {
  const at::Tensor a = testing::normals({16}, "a"), b = testing::normals({16}, "b");
  const double cosine = ((a * b).sum() / (a.norm() * b.norm())).item<double>();
  const Couplings found = couplings({{a, at::Tensor()}, {b}}, {ladder_of({4, 1}), ladder_of({9})});
  ASSERT_EQ(found.values.size(), 9u);
  EXPECT_NEAR(found.values[2], 2 * cosine * 6 * found.reliability, 1e-5);
  EXPECT_EQ(found.values[2], found.values[6]);
  EXPECT_EQ(found.values[1], 0.0f);
  EXPECT_EQ(found.values[4], 0.0f);
  EXPECT_EQ(couplings({{at::Tensor()}}, {ladder_of({1})}).values, std::vector<float>{0.0f});
}

/// Couplings of 30 matrices whose M [t, t] is noise plus `shared` times what all have in common.
Couplings sketched_couplings(double shared) {
  constexpr int64_t kTokens = 60, kWidth = 32;
  const at::Tensor common = testing::normals({kTokens, kTokens}, "common");
  const at::Tensor left = token_signs(kWidth, kTokens, Rng(1)),
                   right = token_signs(kWidth, kTokens, Rng(2));
  std::vector<std::vector<at::Tensor>> vectors;
  for (int l = 0; l < 30; ++l) {
    const at::Tensor m = testing::normals({kTokens, kTokens}, cat("own ", l)) + shared * common;
    vectors.push_back({at::matmul(at::matmul(left, m), right.t()).reshape({-1})});
  }
  return couplings(vectors, std::vector<Ladder>(30, ladder_of({1})));
}

TEST(CrossLayer, CouplingsThatAreChanceShrink) {
  EXPECT_LT(sketched_couplings(0).reliability,
            0.3);                                // true cosines are about 1 / 60, errors 1 / 32
  const Couplings half = sketched_couplings(1);  // true cosines are 1 / 2
  EXPECT_GT(half.reliability, 0.9);
  EXPECT_NEAR(half.values[1], 2 * 0.5, 0.2);
}

}  // namespace
}  // namespace cupel::core
