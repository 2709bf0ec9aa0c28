// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/model.h"
#include "core/pipeline/units.h"
#include "core/quantizer.h"

namespace cupel::core {

/// One `quant.*` step of a recipe.
struct QuantStep {
  std::string key;  ///< "quant.gptq"
  std::shared_ptr<const Quantizer> quantizer;
  std::shared_ptr<const QuantizerParams> params;
  std::string plan;  ///< set by the pipeline for methods that plan: part of the key of their units
};

/// Which step takes a matrix: the first whose pattern names it; nullptr for none. A pattern with
/// wildcards ranges over decoder matrices only; embedding and head must be named in full.
const QuantStep* step_for(const std::vector<QuantStep>& steps, const format::ModelConfig& config,
                          const std::string& name);

struct QuantizeJob {
  Model& model;
  std::vector<QuantStep> steps;  ///< adjacent steps run as one pass over the blocks
  std::vector<std::vector<int32_t>>
      calibration;        ///< samples of tokens; may be empty if no step needs statistics
  std::string model_key;  ///< hash of everything that led to the model's weights
  uint64_t seed = 0;
  UnitStore& store;
  /// Matrices that earlier steps quantized: left alone. New ones are added.
  std::map<std::string, FinishedMatrix>& done;
  /// Called after each unit: its matrices, whether it was found finished, units done and in all.
  std::function<void(const std::vector<QuantizedMatrix>&, bool, int64_t, int64_t)> on_unit;
  /// Called with each step that has made or found its plan.
  std::function<void(const QuantStep&)> on_plan = {};
};

/// Block by block, and in a block input group by input group, in the order of the forward pass: the
/// block runs, on what the blocks before it produce, as far as the group; the statistics of its
/// input go to the methods; its matrices are replaced by their decoded values. What comes later
/// sees the errors of all that comes before it. Units that the store holds are read instead of
/// computed. A finished block leaves memory: its codes lie in the store, and the model reads a
/// weight from there when it is wanted again. Matrices of a step that needs the block as a whole
/// come first in it, as one unit. Returns the key of the resulting model. Fault::data names the
/// first layer whose output is not finite.
std::string quantize_model(QuantizeJob& job);

}  // namespace cupel::core
