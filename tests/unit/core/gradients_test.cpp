// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/GradMode.h>

#include <gtest/gtest.h>

#include "tests/unit/core/tiny_model.h"

namespace cupel::core {
namespace {

std::vector<std::vector<int32_t>> sequences(int64_t n, int64_t t, int64_t vocab) {
  const at::Tensor ids = random_ids(n, t, vocab, 4).to(at::kInt);
  std::vector<std::vector<int32_t>> out;
  for (int64_t s = 0; s < n; ++s) {
    const int32_t* first = ids[s].const_data_ptr<int32_t>();
    out.emplace_back(first, first + t);
  }
  return out;
}

TEST(Gradients, StatisticsAgreeWithEachOther) {
  Model model = lively_model(tiny_config(), 5, at::kDouble);
  const auto texts = sequences(1, 9, 37);
  const Gradients found = collect_gradients(
      model, texts, {.fisher = true, .output_moment = true, .groups = 1}, Rng(3, "labels"));
  ASSERT_EQ(found.size(), 3u * 7u);
  const auto& arch = model.config().architecture();
  for (const auto& [name, g] : found) {
    ASSERT_TRUE(format::id_of_canonical(arch, name).has_value()) << name;
    EXPECT_TRUE(g.finite());
    EXPECT_EQ(g.tokens, 9);
    // One sequence: the Fisher information is the square of the gradient.
    EXPECT_LT((g.fisher_oi - g.gradient_oi * g.gradient_oi).abs().max().item<double>(),
              1e-6 * g.fisher_oi.abs().max().item<double>() + 1e-12)
        << name;
    // With one group, saliency times outputs is the trace of the output moment.
    EXPECT_NEAR(g.saliency_tq.sum().item<double>() * static_cast<double>(g.gradient_oi.size(0)),
                g.output_moment_oo.trace().item<double>(),
                1e-4 * g.output_moment_oo.trace().item<double>())
        << name;
  }
}

TEST(Gradients, AreThoseOfOneBackwardPassThroughTheWholeModel) {
  Model model = lively_model(tiny_config(), 5, at::kDouble);
  const auto texts = sequences(1, 11, 37);
  const Gradients found = collect_gradients(model, texts, {.fisher = true}, Rng(3, "labels"));
  const c10::AutoGradMode with_gradients(true);
  std::map<std::string, at::Tensor> leaves;
  for (const auto& [name, g] : found) {
    const auto id = *format::id_of_canonical(model.config().architecture(), name);
    leaves[name] = model.weight(id).detach().clone().requires_grad_(true);
    model.set_weight(id, leaves[name]);
  }
  const at::Tensor logits_tv = model.forward(random_ids(1, 11, 37, 4))[0];
  const at::Tensor labels = drawn_labels(logits_tv, Rng(3, "labels").child(uint64_t{0}));
  (-at::log_softmax(logits_tv.to(at::kFloat), -1).gather(-1, labels).sum()).backward();
  for (const auto& [name, leaf] : leaves) {
    const at::Tensor expected = leaf.grad(), got = found.at(name).gradient_oi.to(at::kDouble);
    EXPECT_LT((expected - got).norm().item<double>(), 1e-5 * expected.norm().item<double>())
        << name;
  }
}

TEST(Gradients, TheSameSeedDrawsTheSameLabels) {
  Model model = lively_model(tiny_config(), 5);
  const auto texts = sequences(2, 8, 37);
  const GradientNeeds needs{.fisher = true};
  const Gradients a = collect_gradients(model, texts, needs, Rng(3, "labels"));
  const Gradients b = collect_gradients(model, texts, needs, Rng(3, "labels"));
  const Gradients c = collect_gradients(model, texts, needs, Rng(4, "labels"));
  const std::string name = "model.layers.1.self_attn.q_proj.weight";
  EXPECT_EQ((a.at(name).fisher_oi - b.at(name).fisher_oi).abs().max().item<float>(), 0.0f);
  EXPECT_GT((a.at(name).fisher_oi - c.at(name).fisher_oi).abs().max().item<float>(), 0.0f);
}

}  // namespace
}  // namespace cupel::core
