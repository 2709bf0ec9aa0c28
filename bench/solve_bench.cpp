// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// How long GPTQ's own work takes for a model of 32 blocks as Llama 3 8B has them: a factorisation
// for each group of matrices that share their input, then rounding with feedback, codes on the host
// at the end. Random weights; second moments of correlated random inputs.
//
//   solve_bench DEVICE [BLOCKS] [BITS] [GROUP]
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "base/cat.h"
#include "base/error.h"
#include "base/threads.h"
#include "core/code.h"
#include "core/feedback.h"
#include "core/model.h"

namespace {

using namespace cupel;
using core::Metric;

struct Group {
  const char* name;
  int64_t inputs;
  std::vector<int64_t> outputs;
};
const std::vector<Group> kBlock = {{"q/k/v", 4096, {4096, 1024, 1024}},
                                   {"o", 4096, {4096}},
                                   {"gate/up", 4096, {14336, 14336}},
                                   {"down", 14336, {4096}}};

/// Sum of x x^T over `tokens` tokens with a falling spectrum, float64 on the device.
at::Tensor second_moment(int64_t inputs, int64_t tokens, at::Device device) {
  const auto options = at::TensorOptions(at::kFloat).device(device);
  const at::Tensor spread_i = (at::arange(inputs, options) * -3.0 / inputs).exp();
  const at::Tensor x_ti = at::randn({tokens, inputs}, options) * spread_i + 0.3;
  return at::matmul(x_ti.t(), x_ti).to(at::kDouble);
}

struct Seconds {
  double factor = 0, round = 0;
};

Seconds solve(const Group& group, const at::Tensor& h_ii, int64_t tokens, const core::Code& code) {
  std::vector<at::Tensor> weights;
  for (const int64_t outputs : group.outputs)
    weights.push_back(at::randn({outputs, group.inputs}, h_ii.options().dtype(at::kFloat)) * 0.02);
  weights.back().sum().item<float>();  // the device is idle when the clock starts
  Seconds spent;
  const double start = now_seconds();
  const core::Factor factor = core::factorise(h_ii, tokens, 1, {});
  CUPEL_CHECK(factor.usable(), internal, factor.failure);
  const Metric metric{.weight = h_ii.diagonal().to(at::kCPU, at::kFloat).contiguous(),
                      .tile_i = {}};
  spent.factor = now_seconds() - start;
  for (const at::Tensor& w_oi : weights) {
    const auto codes = core::encode(code, w_oi, metric, &factor);
    CUPEL_CHECK(codes.rows == w_oi.size(0), internal, "codes are missing");
  }
  spent.round = now_seconds() - start - spent.factor;
  return spent;
}

void run(at::Device device, int blocks, int bits, int group) {
  const c10::NoGradGuard no_grad;
  const auto layout =
      format::make_layout("uniform", cat("{\"bits\":", bits, ",\"group\":", group, "}"));
  const auto code = core::make_code(layout, core::ScaleRule::mse);
  constexpr int64_t kTokens = 16384;
  std::map<int64_t, at::Tensor> moments;
  for (const Group& g : kBlock)
    if (!moments.contains(g.inputs)) moments[g.inputs] = second_moment(g.inputs, kTokens, device);
  for (const Group& g : kBlock) solve(g, moments[g.inputs], kTokens, *code);  // warm
  double total = 0;
  int64_t matrices = 0;
  std::printf("| group | factorise, s a block | round, s a block |\n|---|---|---|\n");
  for (const Group& g : kBlock) {
    Seconds sum;
    for (int b = 0; b < blocks; ++b) {
      const Seconds s = solve(g, moments[g.inputs], kTokens, *code);
      sum.factor += s.factor;
      sum.round += s.round;
    }
    matrices += blocks * static_cast<int64_t>(g.outputs.size());
    total += sum.factor + sum.round;
    std::printf("| %s | %.4f | %.4f |\n", g.name, sum.factor / blocks, sum.round / blocks);
  }
  std::printf("\n%lld matrices, %d factorisations: %.2f s\n", static_cast<long long>(matrices),
              blocks * static_cast<int>(kBlock.size()), total);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: solve_bench DEVICE [BLOCKS] [BITS] [GROUP]\n");
    return 2;
  }
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  run(core::device_from_name(argv[1]), number(2, 32), number(3, 4), number(4, 128));
  return 0;
}
