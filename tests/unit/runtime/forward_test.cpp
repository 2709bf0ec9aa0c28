// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The decoder against a plain double-precision one, and what must not change a bit of it.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "reference_decoder.h"
#include "runtime/linear_step.h"
#include "tiny_model.h"

namespace cupel::runtime {
namespace {

using kernels::Isa;

SessionOptions exact_cache(int threads = 1, int64_t chunk = 256) {
  return {.threads = threads, .context = 0, .kv = KvType::f32, .prompt_chunk = chunk};
}

std::vector<float> run(const std::string& path, const LoadOptions& load,
                       const SessionOptions& options, const std::vector<text::Token>& ids) {
  Session session(Model::open(path, load), options);
  return logits_of(session, ids);
}

TEST(Forward, DenseFolderMatchesTheReference) {
  for (const bool tied : {false, true}) {
    const TinyModel model = make_tiny(1, tied);
    const std::string path = write_folder(model, tied ? "dense_tied" : "dense");
    const auto ids = random_ids(1, 40, model.config.vocab);
    const auto reference = reference_logits(model, ids);
    for (const Isa isa : levels()) {
      EXPECT_LT(largest_difference(run(path, {.isa = isa}, exact_cache(), ids), reference), 1e-4)
          << kernels::isa_name(isa);
    }
  }
}

TEST(Forward, DenseArtifactEqualsTheFolder) {
  const TinyModel model = make_tiny(2, true);
  const auto ids = random_ids(2, 20, model.config.vocab);
  EXPECT_EQ(run(write_packed(model, {}, "dense.cupel"), {}, exact_cache(), ids),
            run(write_folder(model, "dense_twin"), {}, exact_cache(), ids));
}

TEST(Forward, ScaledRopeMatchesTheReference) {
  TinyModel model = make_tiny(3, true);
  model.config.rope = {"llama3", 500000, 8, 1, 4, 128};
  const auto ids = random_ids(3, 300, model.config.vocab);
  const auto logits = run(write_folder(model, "llama3"), {}, exact_cache(), ids);
  EXPECT_LT(largest_difference(logits, reference_logits(model, ids)), 2e-4);
}

class PackedForward : public ::testing::TestWithParam<Packing> {};

TEST_P(PackedForward, MatchesTheReference) {
  TinyModel stored;
  const TinyModel model = make_tiny(4, true);
  const std::string path = write_packed(model, GetParam(), "packed.cupel", &stored);
  const auto ids = random_ids(4, 40, model.config.vocab);
  const auto reference = reference_logits(stored, ids);
  EXPECT_LT(largest_difference(run(path, {}, exact_cache(), ids), reference), 3e-3);
  const double one_pass = largest_difference(
      run(path, {.activations = Activations::int8}, exact_cache(), ids), reference);
  EXPECT_GT(one_pass, 3e-3);
  EXPECT_LT(one_pass, 1);
}

TEST_P(PackedForward, LevelsGiveTheSameBits) {
  const TinyModel model = make_tiny(5, false);
  const std::string path = write_packed(model, GetParam(), "levels.cupel");
  const auto ids = random_ids(5, 30, model.config.vocab);
  const auto scalar = run(path, {.isa = Isa::scalar}, exact_cache(), ids);
  for (const Isa isa : levels())
    EXPECT_EQ(run(path, {.isa = isa}, exact_cache(), ids), scalar) << kernels::isa_name(isa);
}

TEST_P(PackedForward, ThreadsAndChunksChangeNothing) {
  const TinyModel model = make_tiny(6, true);
  const std::string path = write_packed(model, GetParam(), "same.cupel");
  const auto ids = random_ids(6, 290, model.config.vocab);
  for (const KvType kv : {KvType::f16, KvType::f32}) {
    std::vector<float> first;
    for (const int threads : {1, 2, 5})
      for (const int64_t chunk : {1, 7, 64, 256, 1000}) {
        if (threads == 5 && chunk == 1) continue;
        const auto logits =
            run(path, {}, {.threads = threads, .kv = kv, .prompt_chunk = chunk}, ids);
        if (first.empty()) first = logits;
        EXPECT_EQ(first, logits) << threads << " threads, chunks of " << chunk;
      }
  }
}

TEST_P(PackedForward, LinearLayersHaveTheSameBitsAtEveryLevel) {
  const TinyModel model = make_tiny(7, true);
  const auto& packing = GetParam();
  if (packing.layout != "uniform") GTEST_SKIP() << "not an integer layout";
  const std::string path = write_packed(model, packing, "bits.cupel");
  std::vector<float> x(static_cast<std::size_t>(3 * model.config.intermediate));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 17;
  std::vector<std::vector<float>> results;
  for (const Isa isa : levels()) {
    const auto loaded = Model::open(path, {.isa = isa});
    const auto& layer = loaded->layers()[1];
    ThreadPool pool(2);
    LinearStep step(loaded->cpu(), pool, true);
    std::vector<float> input = x, y(static_cast<std::size_t>(3 * model.config.hidden));
    const std::vector<LinearOutput> outputs{{&layer.mlp.down, y.data()}};
    step.run(input.data(), 3, *layer.mlp.down_in, outputs, [](int64_t) {});
    results.push_back(y);
  }
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, PackedForward,
    ::testing::Values(Packing{.layout = "uniform", .bits = 8, .group = 32},
                      Packing{.layout = "uniform", .bits = 4, .group = 64},
                      Packing{.layout = "uniform", .bits = 3, .group = 128, .symmetric = true},
                      Packing{.layout = "uniform", .bits = 5, .group = 0},
                      Packing{.layout = "uniform", .bits = 4, .group = 64, .hadamard = 32},
                      Packing{.layout = "uniform", .bits = 4, .group = 64, .hadamard = -1}),
    [](const auto& packing) {
      const Packing& p = packing.param;
      return cat("u", p.bits, "g", p.group, p.hadamard > 0 ? "h" : p.hadamard < 0 ? "whole" : "");
    });

TEST(Forward, TransformsOnDenseWeights) {
  TinyModel stored;
  const TinyModel model = make_tiny(8, true);
  for (const int block : {16, -1}) {
    const std::string path = write_packed(model, {.hadamard = block}, "rotated.cupel", &stored);
    const auto ids = random_ids(8, 30, model.config.vocab);
    const auto logits = run(path, {}, exact_cache(), ids);
    EXPECT_LT(largest_difference(logits, reference_logits(model, ids)), 2e-4) << block;
    EXPECT_LT(largest_difference(logits, reference_logits(stored, ids)), 2e-4) << block;
  }
}

TEST(Forward, HalfPrecisionCacheStaysClose) {
  const TinyModel model = make_tiny(9, true);
  const std::string path = write_folder(model, "half_cache");
  const auto ids = random_ids(9, 60, model.config.vocab);
  EXPECT_LT(largest_difference(run(path, {}, {.threads = 1}, ids), reference_logits(model, ids)),
            2e-2);
}

}  // namespace
}  // namespace cupel::runtime
