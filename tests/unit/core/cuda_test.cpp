// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The same on a GPU as on the CPU. Skipped where there is none.

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "core/sampling.h"
#include "core/stats.h"
#include "core/train/trainable.h"
#include "distill/opd.h"
#include "distill/train_lm.h"
#include "prune/depth.h"
#include "tiny_model.h"

namespace cupel::core {
namespace {

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = device_from_name("auto");
    if (!device_.is_cuda()) GTEST_SKIP() << "no GPU";
    set_deterministic();
  }

  /// The model of lively_model() with its weights on the GPU.
  Model on_gpu(Model& model) const {
    ModelOptions options;
    options.device = device_;
    Model out = Model::random(model.config(), options, 1);
    for (const auto& [name, w] : model.named_weights())
      out.set_weight(*format::id_of_canonical(model.config().architecture(), name), w);
    return out;
  }

  static std::vector<int64_t> text() {
    const at::Tensor ids = random_ids(1, 500, 37, 1);
    return {ids.const_data_ptr<int64_t>(), ids.const_data_ptr<int64_t>() + 500};
  }

  at::Device device_ = at::kCPU;
};

TEST_F(CudaTest, ForwardAndCache) {
  const c10::NoGradGuard no_grad;
  Model cpu = lively_model(tiny_config(), 3);
  Model gpu = on_gpu(cpu);
  const at::Tensor ids = random_ids(2, 21, 37, 4);
  const at::Tensor expected = cpu.forward(ids);
  EXPECT_LT((gpu.forward(ids).cpu() - expected).abs().max().item<double>(), 1e-3);
  KvCache cache;
  const at::Tensor first = gpu.forward(ids.slice(1, 0, 9), &cache),
                   second = gpu.forward(ids.slice(1, 9), &cache);
  EXPECT_LT((at::cat({first, second}, 1).cpu() - expected).abs().max().item<double>(), 1e-3);
}

TEST_F(CudaTest, SamplingDrawsAlike) {
  Model cpu = lively_model(tiny_config(), 3);
  Model gpu = on_gpu(cpu);
  const at::Tensor prompts = random_ids(3, 5, 37, 4);
  EXPECT_TRUE(
      at::equal(sample(gpu, prompts, 20, 1, Rng(2)).cpu(), sample(cpu, prompts, 20, 1, Rng(2))));
}

TEST_F(CudaTest, StatsAndPruning) {
  Model cpu = lively_model(tiny_config(), 3);
  Model gpu = on_gpu(cpu);
  const at::Tensor ids = random_ids(2, 40, 37, 4);
  Stats a, b;
  const Needs needs{.second_moment = true, .absmax = true};
  a.add(needs, cpu.embed(ids));
  b.add(needs, gpu.embed(ids));
  EXPECT_LT((a.second_moment_ii - b.second_moment_ii.cpu()).abs().max().item<double>(), 1e-2);
  EXPECT_TRUE(at::equal(a.absmax_i, b.absmax_i.cpu()));
  const prune::Depth depth(prune::DepthParams{});
  const PrunePlan on_cpu = depth.plan(cpu, {ids}), plan = depth.plan(gpu, {ids.to(device_)});
  EXPECT_EQ(plan.remove_layers, on_cpu.remove_layers);
  apply(plan, gpu);
  EXPECT_EQ(gpu.forward(ids).size(1), 40);
}

TEST_F(CudaTest, TrainingGivesTheSameBits) {
  Model start = lively_model(tiny_config(), 3);
  std::vector<Model> runs;
  for (int i = 0; i < 2; ++i) {
    Model student = on_gpu(start), teacher = on_gpu(start);
    train::TrainContext context{
        .student = student, .teacher = &teacher, .tokens = text(), .rng = Rng(1)};
    distill::TrainLmParams lm;
    lm.steps = 5;
    lm.length = 32;
    distill::TrainLm(lm).run(context);
    distill::OpdParams opd;
    opd.steps = 3;
    opd.rollout.prompt = 4;
    opd.rollout.tokens = 8;
    opd.adamw.lr = 1e-3;
    distill::Opd(opd).run(context);
    runs.push_back(student);
  }
  const auto first = runs[0].named_weights(), second = runs[1].named_weights();
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_TRUE(at::equal(first[i].second, second[i].second)) << first[i].first;
  EXPECT_FALSE(at::equal(first[0].second.cpu(), start.embedding()));
}

}  // namespace
}  // namespace cupel::core
