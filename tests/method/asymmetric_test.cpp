// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The claim of metric `asymmetric`: a model that aims at the original's outputs ends nearer to
// them.
#include <gtest/gtest.h>

#include "tests/method/pipeline_run.h"

namespace cupel {
namespace {

using quant::testing::PipelineRun;

/// Mean squared distance of what the last block gives, on the calibration samples.
double distance(core::Model& a, core::Model& b) {
  const c10::NoGradGuard no_grad;
  double sum = 0;
  for (uint64_t n = 0; n < 8; ++n) {
    const at::Tensor ids = core::ids_tensor(PipelineRun::sample(n), at::kCPU);
    at::Tensor x = a.embed(ids), y = b.embed(ids);
    for (int l = 0; l < a.layers(); ++l) {
      x = a.block(l, x);
      y = b.block(l, y);
    }
    sum += (x - y).square().mean().item<double>();
  }
  return sum / 8;
}

double distance_after(const std::string& recipe, uint64_t seed) {
  core::Model original = core::lively_model(core::tiny_config(), seed);
  PipelineRun run(original.clone(), {{"gptq", recipe}});
  for (const auto& [name, m] : run.done) EXPECT_EQ(m.fallback, "") << name;
  return distance(original, run.model);
}

TEST(Asymmetric, EndsNearerToTheOriginal) {
  for (const char* more : {"", ", activations: int4", ", transform: {hadamard: {block: 8}}"}) {
    double plain = 0, asymmetric = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const std::string head = cat("{layout: {uniform: {bits: 3, group: 32}}", more, ", metric: ");
      plain += distance_after(head + "activation}", seed);
      asymmetric += distance_after(head + "asymmetric}", seed);
    }
    EXPECT_LT(asymmetric, 0.95 * plain) << more;
  }
}

TEST(Asymmetric, WithoutStrengthItIsTheActivationMetric) {
  const auto codes = [](const std::string& metric) {
    PipelineRun run(
        core::lively_model(core::tiny_config(), 5),
        {{"gptq", "{layout: {uniform: {bits: 3, group: 32}}, metric: " + metric + "}"}});
    std::map<std::string, std::vector<std::byte>> bytes;
    for (const auto& [name, m] : run.done)
      bytes[name] = run.store.load_code(m).arrays.at("codes").bytes;
    return bytes;
  };
  EXPECT_EQ(codes("{asymmetric: {strength: 0}}"), codes("activation"));
  EXPECT_NE(codes("asymmetric"), codes("activation"));
}

}  // namespace
}  // namespace cupel
