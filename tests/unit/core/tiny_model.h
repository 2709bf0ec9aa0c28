// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Small seeded models and token streams for the tests of core, prune and distill.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/rng.h"
#include "core/model.h"
#include "core/tensor_util.h"

namespace cupel::core {

inline format::ModelConfig tiny_config() {
  format::ModelConfig c;
  c.family = "llama";
  c.vocab = 37;
  c.hidden = 16;
  c.layers = 3;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 6;  // not hidden / heads
  c.intermediate = 24;
  c.max_positions = 512;
  c.tied_head = true;
  return c;
}

/// Random weights, large enough that every part of the model shows in the logits.
inline Model lively_model(const format::ModelConfig& config, uint64_t seed,
                          at::ScalarType compute = at::kFloat) {
  ModelOptions options;
  options.weights = options.compute = compute;
  Model model = Model::random(config, options, seed);
  for (const auto& [name, w] : model.named_weights()) {
    if (w.dim() == 2) {
      w.mul_(15);
    } else {
      Rng rng(seed, name);
      for (int64_t i = 0; i < w.numel(); ++i) w[i].fill_(1 + 0.3 * rng.normal());
    }
  }
  return model;
}

inline at::Tensor random_ids(int64_t n, int64_t t, int64_t vocab, uint64_t seed) {
  Rng rng(seed, "ids");
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < n * t; ++i)
    ids.push_back(static_cast<int64_t>(rng.below(static_cast<uint64_t>(vocab))));
  return at::tensor(ids, at::kLong).view({n, t});
}

/// A checkpoint in memory that notes what is read.
class MemoryCheckpoint : public format::Checkpoint {
 public:
  explicit MemoryCheckpoint(Model& model) : model_(model) { config_ = model.config(); }
  void read(std::string_view name, std::span<float> out) const override {
    const at::Tensor w =
        host_float(model_.weight(*format::id_of_canonical(config_.architecture(), name)));
    std::copy(floats(w).begin(), floats(w).end(), out.begin());
    reads.emplace_back(name);
  }
  std::string tokenizer_json() const override { return ""; }
  std::string kind() const override { return "memory"; }
  std::string fingerprint() const override { return "memory"; }
  mutable std::vector<std::string> reads;

 private:
  Model& model_;
};

/// A folder of its own for one test, removed afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cupel-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace cupel::core
