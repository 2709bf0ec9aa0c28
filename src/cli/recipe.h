// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"
#include "base/yaml.h"
#include "text/dataset.h"

namespace cupel::cli {

/// Shape of a model that a recipe trains from nothing: Llama family, byte-level tokenizer.
struct ScratchParams : Params {
  int64_t hidden = 128, layers = 4, heads = 4, kv_heads = 2, intermediate = 384, positions = 512;
  void visit(ParamVisitor& v) override;
};

struct ModelParams : Params {
  std::string path;
  std::string dtype = "float32";    ///< weights are rounded to it after reading
  std::string compute = "float32";  ///< arithmetic
  Choice from;                      ///< file | scratch
  ModelParams();
  void visit(ParamVisitor& v) override;
  bool scratch() const { return from.name == "scratch"; }
};

struct DataParams : Params {
  text::TextData calibration;
  std::string train;  ///< text file for train.* and distill.* steps
  void visit(ParamVisitor& v) override;
};

struct EvaluateParams : Params {
  std::string against = "original";  ///< original | none
  std::vector<text::TextData> perplexity;
  std::vector<std::string> prompts;  ///< continued greedily by both models in the report
  int64_t prompt_tokens = 48;
  std::vector<std::string> tasks;  ///< names or .yaml files
  std::string data;                ///< folder of the tasks' data files
  double limit = 0;                ///< rows of a task; 0 is all
  bool speed = true;
  void visit(ParamVisitor& v) override;
};

/// One entry of `steps` or `export`: its key and parameters.
struct RecipeEntry {
  std::string key;
  std::shared_ptr<Params> params;
};

struct Recipe {
  ModelParams model;
  int64_t seed = 0;
  DataParams data;
  std::vector<RecipeEntry> steps, exports;
  EvaluateParams evaluate;
  /// With every default filled in; reads back to the same recipe.
  std::string to_yaml() const;
};

/// Names that a recipe may use.
struct Vocabulary {
  std::vector<Alternative> steps;    ///< "quant.gptq", ...
  std::vector<Alternative> exports;  ///< "artifact", ...
};

/// Fault::user with every mistake of the document at once.
Recipe read_recipe(const Document& document, const Vocabulary& vocabulary);

}  // namespace cupel::cli
