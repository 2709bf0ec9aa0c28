// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <ATen/core/grad_mode.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/threads.h"
#include "cli/catalog.h"
#include "cli/run/state.h"
#include "core/tensor_util.h"
#include "core/train/trainable.h"

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;

std::string kind_of(const std::string& key) {
  return key.substr(0, key.find('.'));
}
std::string method_of(const std::string& key) {
  return key.substr(key.find('.') + 1);
}

std::vector<std::vector<text::Token>> calibration(const RunState& state) {
  const auto& data = state.recipe.data.calibration;
  if (data.file.empty()) return {};
  const std::string path = find_data_file(data.file, state.recipe_folder);
  return text::token_blocks(*state.tokenizer, read_text(path), data.samples, data.length, path);
}

at::Tensor ids_tensor(const std::vector<std::vector<text::Token>>& samples, at::Device device) {
  std::vector<int64_t> flat;
  for (const auto& s : samples) flat.insert(flat.end(), s.begin(), s.end());
  const auto n = static_cast<int64_t>(samples.size());
  const format::Array array = format::Array::of<int64_t>(
      format::ElementType::i64, {n, n ? static_cast<int64_t>(flat.size()) / n : 0},
      std::span<const int64_t>(flat));
  return core::tensor_of(array).to(device);
}

std::string checkpoint_path(const RunState& state, const std::string& key) {
  return state.path(cat("checkpoints/", key, ".h5"));
}

void log_unit(const std::vector<core::QuantizedMatrix>& matrices, bool skipped) {
  for (const core::QuantizedMatrix& m : matrices) {
    log::event("unit", cat("\"name\":\"", m.name, "\",\"method\":\"", m.method,
                           "\",\"found\":", skipped, ",\"relative_error\":", m.relative_error));
    if (!m.result.fallback.empty())
      log::warn("quant", cat(m.name, " fell back: ", m.result.fallback));
  }
}

/// `distill` needs the original beside the student; it is kept from the first step that changes
/// what a model computes.
void keep_original(RunState& state, const std::string& kind) {
  if (state.original || kind == "train") return;
  state.original = state.model->clone();
  state.original_key = state.key;
}

std::vector<int64_t> training_tokens(const RunState& state, const std::string& key) {
  CUPEL_CHECK(!state.recipe.data.train.empty(), user, key,
              " needs text to train on, but the recipe has no data.train");
  const std::string path = find_data_file(state.recipe.data.train, state.recipe_folder);
  const auto ids = state.tokenizer->encode(read_text(path));
  return {ids.begin(), ids.end()};
}

std::string tokens_key(const std::vector<int64_t>& tokens) {
  return Sha256().add(std::as_bytes(std::span(tokens))).hex();
}

/// What a plan decided, for the log and the report; read from its file, so that a resumed run says
/// it too.
void report_plan(RunState& state, const std::string& step, const std::string& path) {
  const auto plan = nlohmann::json::parse(read_text(path));
  std::vector<std::string> notes = plan.at("notes");
  notes.insert(notes.begin(), cat("removed layers ", plan.at("remove_layers").dump(), " by ",
                                  plan.at("score").get<std::string>()));
  for (const std::string& note : notes) {
    log::info("prune", note);
    state.report.notes.push_back(cat(step, ": ", note));
  }
}

/// A plan without its tables of matrices: one line for the log and the report.
std::string plan_summary(const std::string& plan) {
  const auto json = nlohmann::json::parse(plan);
  std::string text;
  for (const auto& [name, value] : json.items())
    if (!value.is_object()) text += cat(text.empty() ? "" : ", ", name, " ", value.dump());
  return text;
}

std::shared_ptr<const core::QuantizerParams> quantizer_params(const RecipeEntry& entry) {
  auto params = std::dynamic_pointer_cast<const core::QuantizerParams>(entry.params);
  CUPEL_ASSERT(params != nullptr);
  return params;
}

}  // namespace

void save_step_output(RunState& state, const std::string& key) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, value] : state.model->named_weights()) tensors[name] = value.detach();
  tensors["layers"] = ids_tensor({{static_cast<text::Token>(state.model->layers())}}, at::kCPU);
  core::train::save_checkpoint(checkpoint_path(state, key), tensors);
}

bool load_step_output(RunState& state, const std::string& key) {
  if (!fs::exists(checkpoint_path(state, key))) return false;
  const auto tensors = core::train::load_checkpoint(checkpoint_path(state, key));
  const int64_t layers = tensors.at("layers").item<int64_t>();
  std::vector<int> surplus;
  for (int i = static_cast<int>(layers); i < state.model->layers(); ++i) surplus.push_back(i);
  state.model->remove_layers(surplus);
  const auto& arch = state.model->config().architecture();
  for (const auto& [name, value] : tensors)
    if (const auto id = format::id_of_canonical(arch, name)) state.model->set_weight(*id, value);
  log::info("run", cat("found the result of this step in ", checkpoint_path(state, key)));
  return true;
}

void run_quant_steps(RunState& state, std::size_t first, std::size_t last) {
  std::vector<core::QuantStep> steps;
  for (std::size_t i = first; i < last; ++i) {
    const RecipeEntry& entry = state.recipe.steps[i];
    auto quantizer = catalog().quant.at(method_of(entry.key)).make(entry.params);
    steps.push_back({entry.key, std::move(quantizer), quantizer_params(entry)});
  }
  log::Progress progress("quantize", 1, "units");
  core::QuantizeJob job{*state.model,
                        steps,
                        calibration(state),
                        state.key,
                        static_cast<uint64_t>(state.recipe.seed),
                        *state.store,
                        state.codes,
                        {}};
  const std::size_t before = state.codes.size();
  job.on_unit = [&](const auto& matrices, bool skipped, int64_t done, int64_t all) {
    log_unit(matrices, skipped);
    progress.update(static_cast<double>(done) / static_cast<double>(all), matrices.front().name);
  };
  job.on_plan = [&](const core::QuantStep& step) {
    log::info("quant", cat(step.key, ": ", plan_summary(step.plan)));
    state.report.notes.push_back(cat(step.key, ": ", plan_summary(step.plan)));
  };
  state.key = core::quantize_model(job);
  if (state.codes.size() == before)
    log::warn("quant", cat("no matrix matched the quant steps ", first + 1, " to ", last));
}

void run_prune_step(RunState& state, const RecipeEntry& entry) {
  CUPEL_CHECK(state.codes.empty(), user, entry.key,
              " must come before the quant steps: codes belong to layers that it would renumber");
  const auto samples = calibration(state);
  CUPEL_CHECK(!samples.empty(), user, entry.key,
              " needs calibration text, but the recipe has no data.calibration");
  Sha256 text;
  for (const auto& sample : samples) text.add(std::as_bytes(std::span(sample))).add("|");
  const std::string key =
      key_of({"step 1", state.key, entry.key, params_json(*entry.params), text.hex()});
  state.key = key;
  const std::string plan_path = state.path(cat("plans/", key, ".json"));
  if (load_step_output(state, key)) return report_plan(state, entry.key, plan_path);
  const at::NoGradGuard no_grad;
  const auto pruner = catalog().prune.at(method_of(entry.key)).make(entry.params);
  const core::PrunePlan plan =
      pruner->plan(*state.model, {ids_tensor(samples, state.model->options().device)});
  write_atomic(plan_path, plan.to_json());
  report_plan(state, entry.key, plan_path);
  core::apply(plan, *state.model);
  save_step_output(state, key);
}

void run_train_step(RunState& state, const RecipeEntry& entry) {
  const std::string kind = kind_of(entry.key);
  auto tokens = training_tokens(state, entry.key);
  const std::string key = key_of({"step 1", state.key, entry.key, params_json(*entry.params),
                                  tokens_key(tokens), cat(state.recipe.seed)});
  state.key = key;
  if (load_step_output(state, key)) return;
  const auto& registry = kind == "train" ? catalog().train : catalog().distill;
  const auto method = registry.at(method_of(entry.key)).make(entry.params);
  core::train::TrainContext context{*state.model,
                                    nullptr,
                                    std::move(tokens),
                                    {},
                                    Rng(static_cast<uint64_t>(state.recipe.seed), entry.key),
                                    {},
                                    0,
                                    {}};
  if (method->needs_teacher()) context.teacher = &*state.original;
  for (const auto& [name, code] : state.codes) context.frozen.insert(name);
  context.checkpoint = state.path(cat("checkpoints/", key, "-partial"));
  context.checkpoint_every = 50;
  log::Progress progress(entry.key, static_cast<double>(method->steps()), "steps");
  context.on_step = [&](int64_t step, int64_t, double loss,
                        const std::map<std::string, double>& metrics) {
    std::string more;
    for (const auto& [name, value] : metrics) more += cat(",\"", name, "\":", value);
    log::event("train",
               cat("\"key\":\"", entry.key, "\",\"step\":", step, ",\"loss\":", loss, more));
    progress.update(static_cast<double>(step), cat("loss ", fixed(loss, 4)));
  };
  method->run(context);
  save_step_output(state, key);
  std::error_code ignored;
  fs::remove(context.checkpoint + ".h5", ignored);
}

void run_steps(RunState& state) {
  const auto& steps = state.recipe.steps;
  for (std::size_t i = 0; i < steps.size();) {
    const std::string kind = kind_of(steps[i].key);
    std::size_t end = i + 1;
    if (kind == "quant")
      while (end < steps.size() && kind_of(steps[end].key) == "quant") ++end;
    keep_original(state, kind);
    const double start = now_seconds();
    const std::string label = end > i + 1 ? cat("steps ", i + 1, "-", end, ": quant")
                                          : cat("step ", i + 1, ": ", steps[i].key);
    log::info("run", label);
    in_frame(label, [&] {
      if (kind == "quant")
        run_quant_steps(state, i, end);
      else if (kind == "prune")
        run_prune_step(state, steps[i]);
      else
        run_train_step(state, steps[i]);
    });
    state.report.step_seconds.emplace_back(label, now_seconds() - start);
    i = end;
  }
  keep_original(state, "evaluate");
}

}  // namespace cupel::cli
