// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/common.h"
#include "cli/recipe.h"
#include "core/model.h"
#include "core/pipeline/quantize.h"
#include "core/pipeline/units.h"
#include "eval/report.h"
#include "text/tokenizer.h"

namespace cupel::cli {

struct RunOptions {
  std::string recipe;  ///< path
  std::string out;
  std::string model;                                          ///< overrides model.path
  std::vector<std::pair<std::string, std::string>> settings;  ///< --set a.b.c=VALUE
  bool resume = false, strict = false;
  CommonOptions common;  ///< device, threads, instruction set
};

/// What the steps of a run work on, and what it has found so far.
struct RunState {
  RunOptions options;
  Recipe recipe;
  std::string
      recipe_folder;  ///< relative data files are looked up here, then in the working folder
  std::shared_ptr<const format::Checkpoint> source;  ///< null for a model made from nothing
  std::optional<core::Model> model,
      original;  ///< original: before the first prune, quant or distill step
  std::string tokenizer_json;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::map<std::string, core::FinishedMatrix> codes;
  std::string source_key, original_key;  ///< `key` of the model as opened, and of `original`
  std::string key;                       ///< hash of everything that led to `model`
  std::optional<core::UnitStore> store;
  std::string artifact;  ///< path of the exported artifact, "" when there is none
  eval::RunReport report;

  std::string path(const std::string& name) const;  ///< inside the run folder unless absolute
};

/// A file that a recipe names: as given, beside the recipe, or beside its parent folder.
/// Fault::user lists the places.
std::string find_data_file(const std::string& name, const std::string& recipe_folder);

/// "~/" and "$NAME" in a path; an unset variable is a Fault::user that names it.
std::string expand_path(const std::string& path);
format::ModelConfig scratch_config(const ScratchParams& params);

/// Fault::user if a text that the recipe names is not there: before anything is loaded.
void check_files(const Recipe& recipe, const std::string& recipe_folder);

/// Reads recipe and settings; what `run` and `check` share.
Recipe load_recipe(const RunOptions& options);

/// Opens the model, its tokenizer and the run folder.
void open_model(RunState& state);

/// All steps in order. Adjacent quant steps are one pass.
void run_steps(RunState& state);
void run_quant_steps(RunState& state, std::size_t first, std::size_t last);
void run_prune_step(RunState& state, const RecipeEntry& entry);
void run_train_step(RunState& state, const RecipeEntry& entry);

void run_exports(RunState& state);
void run_evaluation(RunState& state);
/// report.html and summary.json.
void write_report(RunState& state, double seconds);

/// `cupel run`: the whole of it. Returns the exit code.
int run_recipe(const RunOptions& options);

/// Weights of a finished step other than quant: `checkpoints/<key>.h5`.
bool load_step_output(RunState& state, const std::string& key);
void save_step_output(RunState& state, const std::string& key);

}  // namespace cupel::cli
