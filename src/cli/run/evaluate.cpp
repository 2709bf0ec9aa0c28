// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/bits.h"
#include "cli/commands/eval_compare.h"
#include "cli/run/state.h"
#include "core/generator.h"
#include "core/scorer.h"
#include "eval/perplexity.h"
#include "runtime/bench.h"
#include "runtime/session.h"

namespace cupel::cli {

namespace {

using eval::EvalResult;

runtime::LoadOptions load_options(const RunState& state) {
  runtime::LoadOptions o;
  o.isa = kernels::isa_from_name(state.options.common.isa);
  return o;
}

std::shared_ptr<const runtime::Model> packed_model(const RunState& state) {
  return state.artifact.empty() ? nullptr
                                : runtime::Model::open(state.artifact, load_options(state));
}

runtime::SessionOptions session_options(const RunState& state) {
  runtime::SessionOptions o;
  o.threads = state.options.common.threads;
  o.kv = runtime::KvType::f32;
  return o;
}

EvalResult describe_original(const RunState& state) {
  EvalResult r;
  r.model = "original";
  r.engine = cat("LibTorch ", state.recipe.model.compute);
  const ModelSize size =
      state.source ? size_of(*state.source) : dense_size(state.original->config(), 32);
  r.bytes = size.file_bytes;
  r.parameters = size.parameters;
  r.bits_per_weight = size.bits_per_weight();
  return r;
}

EvalResult describe_result(const RunState& state, const runtime::Model* packed) {
  EvalResult r;
  r.model = packed ? std::filesystem::path(state.artifact).filename().string() : "result";
  r.engine = packed ? "runtime, exact activations" : cat("LibTorch ", state.recipe.model.compute);
  const ModelSize size = packed ? size_of(*format::Checkpoint::open(state.artifact))
                                : dense_size(state.model->config(), 32);
  r.bytes = size.file_bytes;
  r.parameters = size.parameters;
  r.bits_per_weight = size.bits_per_weight();
  r.bits_per_weight_matrices = size.bits_per_weight_matrices();
  return r;
}

void measure(RunState& state, text::Scorer& before, text::Scorer& after) {
  const bool against = state.recipe.evaluate.against == "original";
  for (const auto& data : state.recipe.evaluate.perplexity) {
    const std::string path = find_data_file(data.file, state.recipe_folder);
    log::Progress progress("evaluate", 1, "blocks");
    auto measures = eval::measure_text(
        {&before, &after}, against ? &before : nullptr, *state.tokenizer, read_text(path),
        data.file, {eval::Protocol::gptq, data.length, data.samples},
        [&](int64_t done, int64_t all) {
          progress.update(static_cast<double>(done) / static_cast<double>(all));
        });
    state.report.before->texts.push_back(std::move(measures[0]));
    state.report.after->texts.push_back(std::move(measures[1]));
  }
}

/// Tasks on both models, and verdicts on what was lost.
void measure_tasks(RunState& state, const Respondent& before, const Respondent& after) {
  const EvaluateParams& e = state.recipe.evaluate;
  if (e.tasks.empty()) return;
  TaskCommand command;
  command.tasks = e.tasks;
  command.data = find_data_file(e.data, state.recipe_folder);
  command.limit = e.limit;
  EvalResult &original = *state.report.before, &result = *state.report.after;
  original.tasks = run_tasks(command, before);
  result.tasks = run_tasks(command, after);
  state.report.comparison = compare_tasks(command, {original, result});
}

void measure_speed(const RunState& state, std::shared_ptr<const runtime::Model> model,
                   EvalResult& result) {
  runtime::BenchOptions options;
  options.prompt = 128;
  options.generate = 32;
  options.repeats = 2;
  options.session = session_options(state);
  options.session.kv = runtime::KvType::f16;
  const auto report = runtime::bench(std::move(model), options);
  for (const auto& r : report.results)
    (r.test.starts_with("pp") ? result.prompt_tokens_per_second : result.decode_tokens_per_second) =
        r.tokens_per_second;
}

std::string continuation(const RunState& state, text::Generator& generator,
                         const std::string& prompt) {
  text::GenerateOptions options;
  options.max_tokens = state.recipe.evaluate.prompt_tokens;
  options.sampling.temperature = 0;
  return generator.generate(state.tokenizer->encode(prompt), options, {}).text;
}

/// The original as the runtime sees it, for speed and samples: a checkpoint is converted to float32
/// in memory. Null when the original is no file, because a train step made it.
std::shared_ptr<const runtime::Model> plain_model(const RunState& state) {
  const bool is_file = state.source && state.original_key == state.source_key;
  return is_file ? runtime::Model::open(state.source->path(), load_options(state)) : nullptr;
}

void samples_and_speed(RunState& state, const std::shared_ptr<const runtime::Model>& packed) {
  if (state.recipe.evaluate.prompts.empty() && !state.recipe.evaluate.speed) return;
  const auto plain = plain_model(state);
  if (!state.recipe.evaluate.prompts.empty() && !(plain && packed))
    log::warn("evaluate",
              "the prompts were left out: they need an artifact and an original from a file");
  if (plain && packed && !state.recipe.evaluate.prompts.empty()) {
    runtime::Session before(plain, session_options(state)), after(packed, session_options(state));
    for (const std::string& prompt : state.recipe.evaluate.prompts)
      state.report.samples.push_back(
          {prompt, continuation(state, before, prompt), continuation(state, after, prompt)});
  }
  if (!state.recipe.evaluate.speed) return;
  if (plain) measure_speed(state, plain, *state.report.before);
  if (packed) measure_speed(state, packed, *state.report.after);
}

}  // namespace

void run_evaluation(RunState& state) {
  log::info("evaluate", cat(state.recipe.evaluate.perplexity.size(), " texts"));
  const auto packed = packed_model(state);
  state.report.before = describe_original(state);
  state.report.after = describe_result(state, packed.get());
  const auto before = core::make_scorer(*state.original, "original");
  const auto before_text = core::make_generator(*state.original, state.tokenizer);
  std::unique_ptr<text::Scorer> after;
  std::unique_ptr<text::Generator> dense_text;
  text::Generator* after_text = nullptr;
  if (packed) {
    auto session = std::make_unique<runtime::Session>(packed, session_options(state));
    after_text = session.get();
    after = std::move(session);
  } else {
    after = core::make_scorer(*state.model, "result");
    dense_text = core::make_generator(*state.model, state.tokenizer);
    after_text = dense_text.get();
  }
  in_frame("evaluating", [&] {
    measure(state, *before, *after);
    const auto first = eval::likelihood_of(*before), second = eval::likelihood_of(*after);
    measure_tasks(state, {first.get(), before_text.get(), state.tokenizer.get(), ""},
                  {second.get(), after_text, state.tokenizer.get(), ""});
    samples_and_speed(state, packed);
  });
}

}  // namespace cupel::cli
