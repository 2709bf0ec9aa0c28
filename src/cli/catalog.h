// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "base/registry.h"
#include "cli/recipe.h"
#include "core/pruner.h"
#include "core/quantizer.h"
#include "core/train/trainable.h"

namespace cupel::cli {

struct ArtifactExport : Params {
  std::string path = "model.cupel";
  std::string dense = "auto";  ///< type of what was not quantized
  void visit(ParamVisitor& v) override;
};

struct SafetensorsExport : Params {
  std::string path = "hf";
  std::string dtype = "auto";
  void visit(ParamVisitor& v) override;
};

/// All methods of all modules by kind: the one place that knows every module.
struct Catalog {
  Registry<core::Quantizer> quant;
  Registry<core::Pruner> prune;
  Registry<core::train::Trainable> train, distill;
  std::vector<Alternative> exports;
  Catalog();
  /// The names for the recipe reader.
  Vocabulary vocabulary() const;
};
const Catalog& catalog();

}  // namespace cupel::cli
