// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "cli/catalog.h"
#include "cli/run/state.h"
#include "eval/harness/document.h"
#include "eval/harness/task.h"
#include "text/byte_tokenizer.h"

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;

void open_scratch(RunState& state, const core::ModelOptions& options) {
  const auto& params = state.recipe.model.from.as<ScratchParams>();
  const auto seed = static_cast<uint64_t>(state.recipe.seed);
  state.model = core::Model::random(scratch_config(params), options, seed);
  state.tokenizer_json = text::byte_tokenizer_json();
  state.key = key_of({"scratch 1", params_json(params), cat(seed)});
  state.report.title = "a new model";
}

void open_checkpoint(RunState& state, const core::ModelOptions& options) {
  const std::string path = expand_path(state.recipe.model.path);
  state.source = format::Checkpoint::open(path);
  for (const std::string& note : state.source->notes()) log::info("model", note);
  state.tokenizer_json = state.source->tokenizer_json();
  CUPEL_CHECK(!state.tokenizer_json.empty(), data, "'", path,
              "' has no tokenizer; a recipe needs one to read text");
  state.model = core::Model(state.source, options);
  state.key = key_of({"model 1", state.source->fingerprint(), state.recipe.model.dtype,
                      state.recipe.model.compute});
  state.report.title = fs::path(path).lexically_normal().filename().string();
}

}  // namespace

std::string expand_path(const std::string& path) {
  std::string out = path;
  if (out.starts_with("~/")) {
    const char* home = std::getenv("HOME");
    CUPEL_CHECK(home, environment, "HOME is not set, so '", path, "' can't be expanded");
    out = std::string(home) + out.substr(1);
  }
  for (std::size_t at = out.find('$'); at != std::string::npos; at = out.find('$', at)) {
    std::size_t end = at + 1;
    while (end < out.size() &&
           (std::isalnum(static_cast<unsigned char>(out[end])) || out[end] == '_'))
      ++end;
    const std::string name = out.substr(at + 1, end - at - 1);
    const char* value = std::getenv(name.c_str());
    CUPEL_CHECK(value, user, "'", path, "' names the environment variable ", name,
                ", which is not set");
    out.replace(at, end - at, value);
  }
  return out;
}

format::ModelConfig scratch_config(const ScratchParams& p) {
  format::ModelConfig c;
  c.family = "llama";
  c.vocab = text::kByteVocabulary;
  c.hidden = p.hidden;
  c.layers = p.layers;
  c.heads = p.heads;
  c.kv_heads = p.kv_heads;
  c.head_dim = p.hidden / p.heads;
  c.intermediate = p.intermediate;
  c.max_positions = p.positions;
  c.tied_head = true;
  return c;
}

std::string RunState::path(const std::string& name) const {
  return fs::path(name).is_absolute() ? name : (fs::path(options.out) / name).string();
}

std::string find_data_file(const std::string& name, const std::string& recipe_folder) {
  const std::string expanded = expand_path(name);
  std::vector<fs::path> places = {expanded};
  if (!fs::path(expanded).is_absolute()) {
    places.push_back(fs::path(recipe_folder) / expanded);
    places.push_back(fs::path(recipe_folder).parent_path() / expanded);
  }
  std::vector<std::string> tried;
  for (const fs::path& place : places) {
    if (fs::exists(place)) return place.string();
    tried.push_back(place.string());
  }
  fail(Fault::user, "no file '", name, "' (looked at ", list_text(tried), ")");
}

void check_files(const Recipe& recipe, const std::string& recipe_folder) {
  if (!recipe.data.calibration.file.empty())
    find_data_file(recipe.data.calibration.file, recipe_folder);
  if (!recipe.data.train.empty()) find_data_file(recipe.data.train, recipe_folder);
  for (const auto& text : recipe.evaluate.perplexity) find_data_file(text.file, recipe_folder);
  for (const std::string& name : recipe.evaluate.tasks) {
    const eval::Task task = eval::find_task(name).task;
    eval::find_data(find_data_file(recipe.evaluate.data, recipe_folder), task.test_data);
    CUPEL_CHECK(!task.metric_list[0].starts_with("pass@"), user, "task '", name,
                "' runs programs that a model wrote; only cupel eval --allow-code-execution does");
  }
}

Recipe load_recipe(const RunOptions& options) {
  Document document = Document::from_file(options.recipe);
  for (const auto& [path, value] : options.settings) document.set(path, value);
  if (!options.model.empty()) document.set("model.path", options.model);
  return read_recipe(document, catalog().vocabulary());
}

void open_model(RunState& state) {
  core::ModelOptions options;
  options.weights = core::scalar_type(state.recipe.model.dtype);
  options.compute = core::scalar_type(state.recipe.model.compute);
  options.device = core::device_from_name(state.options.common.device);
  if (state.recipe.model.scratch())
    open_scratch(state, options);
  else
    open_checkpoint(state, options);
  state.source_key = state.key;
  state.tokenizer = text::Tokenizer::from_json(state.tokenizer_json);
}

}  // namespace cupel::cli
