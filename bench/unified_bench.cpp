// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// quant.unified, its parts left out one by one, and what it should beat, on small random models
// with outliers in two inputs of every norm: divergence from the original on text that is not that
// of calibration.
//
//   unified_bench [SEEDS]
#include <ATen/ops/log_softmax.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/method/pipeline_run.h"

namespace {

using namespace cupel;
using quant::testing::PipelineRun;

constexpr int64_t kTexts = 12, kLength = 48;

core::Model outlier_model(uint64_t seed) {
  auto config = core::tiny_config();
  config.hidden = 64;
  config.heads = 8;
  config.kv_heads = 4;
  config.head_dim = 8;
  config.intermediate = 128;
  core::Model model = core::lively_model(config, seed);
  for (const auto& [name, w] : model.named_weights()) {
    if (w.dim() == 2) w.mul_(0.5);  // lively for a quarter of the width
    if (w.dim() != 1 || name.find("layers") == std::string::npos) continue;
    for (const int64_t i : {5, 40}) w[i].mul_(10);
  }
  return model;
}

double divergence(core::Model& original, core::Model& now) {
  const c10::NoGradGuard no_grad;
  double sum = 0;
  for (int64_t n = 0; n < kTexts; ++n) {
    const at::Tensor ids =
        core::ids_tensor(PipelineRun::tokens(kLength, 1000 + static_cast<uint64_t>(n)), at::kCPU);
    const at::Tensor p = at::log_softmax(original.forward(ids), -1),
                     q = at::log_softmax(now.forward(ids), -1);
    sum += (p.exp() * (p - q)).sum().item<double>();
  }
  return sum / static_cast<double>(kTexts * kLength);
}

struct Row {
  const char* name;
  const char* method;
  const char* more;  ///< of the recipe
};

const Row kRows[] = {
    {"hadamard, gptq", "gptq", ", transform: {hadamard: {block: 32}}"},
    {"smooth, gptq", "gptq", ", transform: smooth"},
    {"hadamard, gptq asymmetric", "gptq",
     ", transform: {hadamard: {block: 32}}, metric: asymmetric"},
    {"hadamard, sign-round", "sign-round", ", transform: {hadamard: {block: 32}}"},
    {"hadamard, unified", "unified", ", transform: {hadamard: {block: 32}}"},
    {"smooth, unified", "unified", ", transform: smooth"},
    {"G diagonal", "unified", ", transform: {hadamard: {block: 32}}, output: diagonal"},
    {"G = 1", "unified", ", transform: {hadamard: {block: 32}}, output: identity"},
    {"staged", "unified", ", transform: {hadamard: {block: 32}}, order: staged"},
    {"without scaling", "unified", ", transform: {hadamard: {block: 32}}, scaling: false"},
    {"without ranges", "unified", ", transform: {hadamard: {block: 32}}, ranges: false"},
    {"with inputs that may clip", "unified",
     ", transform: {hadamard: {block: 32}}, clip_inputs: true"},
    {"without rounding", "unified", ", transform: {hadamard: {block: 32}}, rounding: false"},
    {"without feedback", "unified", ", transform: {hadamard: {block: 32}}, feedback: false"},
    {"correction 1", "unified", ", transform: {hadamard: {block: 32}}, correction: 1"},
};
const std::pair<const char*, const char*> kForms[] = {
    {"W4A4", "layout: {uniform: {bits: 4, group: 32}}, activations: int4"},
    {"W4A8", "layout: {uniform: {bits: 4, group: 32}}, activations: int8"},
    {"W3A16", "layout: {uniform: {bits: 3, group: 32}}"}};

void run(int seeds) {
  std::printf("| method |");
  for (const auto& [form, recipe] : kForms) std::printf(" %s |", form);
  std::printf("\n| --- | ---: | ---: | ---: |\n");
  for (const Row& row : kRows) {
    std::printf("| %s |", row.name);
    for (const auto& [form, recipe] : kForms) {
      double logs = 0;
      for (int seed = 1; seed <= seeds; ++seed) {
        core::Model original = outlier_model(static_cast<uint64_t>(seed));
        PipelineRun after(original.clone(), {{row.method, cat("{", recipe, row.more, "}")}});
        logs += std::log(divergence(original, after.model)) / seeds;
      }
      std::printf(" %.4f |", std::exp(logs));
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoi(argv[1]) : 4);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
