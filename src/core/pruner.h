// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/params.h"
#include "base/registry.h"
#include "core/model.h"

namespace cupel::core {

/// What a pruner decided: pure data, can be printed, saved and applied later.
struct PrunePlan {
  std::vector<int> remove_layers;
  /// Replacements of weights that stay (names before the removal), float32 on the CPU.
  std::map<std::string, at::Tensor> replace;
  /// Scores behind the choice, one per layer, and what they are.
  std::vector<double> scores;
  std::string score_name;
  /// What the reader of the report should know: a repair that was left out, and why.
  std::vector<std::string> notes;
  std::string to_json() const;
};

/// Calibration tokens, [n, t] int64 on the model's device.
struct Probe {
  at::Tensor ids_nt;
};

/// A method that decides what to take out. It may run the model, and leaves it unchanged.
class Pruner {
 public:
  virtual ~Pruner() = default;
  virtual PrunePlan plan(Model& model, const Probe& probe) const = 0;
  /// Layers that would go, for the plan of `cupel check`.
  virtual int64_t layers_removed(const format::ModelConfig& config) const = 0;
};

/// The surgery: replacements first, then the removal; the config follows.
void apply(const PrunePlan& plan, Model& model);

}  // namespace cupel::core
