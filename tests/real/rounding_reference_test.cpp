// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The harness against reference figures of another implementation: SmolLM2-135M-Instruct with every
// decoder matrix rounded to int4 in float32 (symmetric, groups of 64 inputs, scale = absmax / 7,
// half to even, clamp -8..7; no fp16 scales), on the first block of 2048 tokens of WikiText-2.
// tests/e2e/real_model_test.py sets the two variables.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/file.h"
#include "core/model.h"
#include "core/scorer.h"
#include "core/tensor_util.h"
#include "eval/perplexity.h"

namespace cupel {
namespace {

std::vector<float> rounded(std::span<const float> w, int64_t cols) {
  std::vector<float> out(w.begin(), w.end());
  for (std::size_t row = 0; row < out.size(); row += static_cast<std::size_t>(cols))
    for (int64_t group = 0; group < cols; group += 64) {
      float* values = out.data() + row + group;
      const int64_t n = std::min<int64_t>(64, cols - group);
      float largest = 0;
      for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(values[i]));
      const float scale = largest / 7;
      for (int64_t i = 0; i < n && scale > 0; ++i)
        values[i] = std::clamp(std::nearbyint(values[i] / scale), -8.0f, 7.0f) * scale;
    }
  return out;
}

void round_matrices(core::Model& model) {
  for (int layer = 0; layer < model.layers(); ++layer)
    for (const auto& group : format::input_groups(model.config(), layer))
      for (const format::WeightId& id : group) {
        const at::Tensor w = core::host_float(model.weight(id));
        model.set_weight(id, core::tensor_of(rounded(core::floats(w), w.size(1)), w.sizes()));
      }
}

TEST(RoundingReference, FirstBlockOfWikiText) {
  const char *path = std::getenv("CUPEL_REAL_MODEL"), *text = std::getenv("CUPEL_WIKITEXT");
  if (!path || !text) GTEST_SKIP() << "needs CUPEL_REAL_MODEL and CUPEL_WIKITEXT";
  std::shared_ptr<const format::Checkpoint> checkpoint = format::Checkpoint::open(path);
  core::ModelOptions options;
  options.weights = at::kBFloat16;
  core::Model original(checkpoint, options), coarse(checkpoint, options);
  round_matrices(coarse);
  const auto a = core::make_scorer(original, "original"), b = core::make_scorer(coarse, "int4");
  const auto tokenizer = text::Tokenizer::from_json(checkpoint->tokenizer_json());
  const auto measures = eval::measure_text({a.get(), b.get()}, a.get(), *tokenizer, read_text(text),
                                           "WikiText-2", {eval::Protocol::gptq, 2048, 1});
  const auto& d = *measures[1].divergence;
  std::printf("KL %.6f, same top-1 %.6f, perplexity %.5f -> %.5f\n", d.kl_mean, d.same_top1,
              measures[0].perplexity.value, measures[1].perplexity.value);
  EXPECT_NEAR(measures[0].perplexity.value, 15.1477, 5e-4);
  EXPECT_NEAR(d.kl_mean, 0.4758, 1e-3);
  EXPECT_NEAR(d.kl_reverse.value, 0.6074, 2e-3);
  EXPECT_NEAR(d.same_top1, 0.6859, 1e-3);
  EXPECT_NEAR(measures[1].perplexity.value, 21.91, 0.01);
}

}  // namespace
}  // namespace cupel
