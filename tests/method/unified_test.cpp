// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// What quant.unified minimises says more about the model than the errors of outputs do, and the
// models that it makes are nearer to the original.
#include <gtest/gtest.h>

#include "tests/method/perturbations.h"
#include "tests/method/pipeline_run.h"

namespace cupel {
namespace {

using quant::testing::Outcome;
using quant::testing::PipelineRun;

TEST(Unified, JRanksWhatHappensToTheModel) {
  at::set_num_threads(1);
  core::Model model = core::lively_model(core::tiny_config(), 5);
  std::vector<std::vector<int32_t>> fitted, judged;
  for (uint64_t n = 0; n < 24; ++n) fitted.push_back(PipelineRun::tokens(48, 100 + n));
  for (uint64_t n = 0; n < 6; ++n) judged.push_back(PipelineRun::tokens(48, 200 + n));
  quant::testing::Perturber perturber(model, fitted, judged);
  std::vector<double> divergence, identity, diagonal, full;
  for (const auto& p : quant::testing::draw_perturbations(model.config(), 3, 4, Rng(2, "draw"))) {
    const Outcome o = perturber.of(p);
    divergence.push_back(o.divergence);
    identity.push_back(o.identity);
    diagonal.push_back(o.diagonal);
    full.push_back(o.full);
  }
  const auto with = [&](const std::vector<double>& j) {
    return quant::testing::rank_correlation(j, divergence);
  };
  EXPECT_GT(with(full), 0.9);
  EXPECT_GT(with(diagonal), with(identity));
  EXPECT_GT(with(full), with(identity));
}

double divergence_after(const std::string& method, const std::string& recipe, uint64_t seed) {
  core::Model original = core::lively_model(core::tiny_config(), seed);
  PipelineRun run(original.clone(), {{method, recipe}});
  const c10::NoGradGuard no_grad;
  double sum = 0;
  for (uint64_t n = 0; n < 8; ++n) {
    const at::Tensor ids = core::ids_tensor(PipelineRun::tokens(48, 300 + n), at::kCPU);
    const at::Tensor p = at::log_softmax(original.forward(ids), -1),
                     q = at::log_softmax(run.model.forward(ids), -1);
    sum += (p.exp() * (p - q)).sum().item<double>() / 48 / 8;
  }
  return sum;
}

TEST(Unified, EndsNearerToTheOriginalThanGptq) {
  double gptq = 0, unified = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const std::string same =
        "layout: {uniform: {bits: 4, group: 32}}, activations: int4, transform: {hadamard: {block: "
        "8}}";
    gptq += divergence_after("gptq", "{" + same + "}", seed);
    unified += divergence_after("unified", "{" + same + "}", seed);
  }
  EXPECT_LT(unified, 0.95 * gptq);
}

}  // namespace
}  // namespace cupel
