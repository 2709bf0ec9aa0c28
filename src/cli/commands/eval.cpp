// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/commands/eval.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/bits.h"
#include "eval/perplexity.h"
#include "eval/report.h"
#include "format/checkpoint.h"
#include "runtime/bench.h"

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;

void measure_speed(const CommonOptions& common, Subject& subject) {
  runtime::BenchOptions options;
  options.prompt = 256;
  options.generate = 64;
  options.repeats = 3;
  options.session.threads = common.threads;
  for (const auto& r : runtime::bench(subject.packed, options).results)
    (r.test.starts_with("pp") ? subject.facts.prompt_tokens_per_second
                              : subject.facts.decode_tokens_per_second) = r.tokens_per_second;
}

std::vector<text::Scorer*> scorers_of(std::vector<Subject>& subjects) {
  std::vector<text::Scorer*> out;
  for (Subject& s : subjects) out.push_back(s.scorer.get());
  return out;
}

void measure_texts(const EvalCommand& command, std::vector<Subject>& subjects,
                   text::Scorer* reference, const std::string& reference_name) {
  const eval::PerplexityOptions options{eval::protocol_from_name(command.protocol), command.length,
                                        command.blocks};
  for (const std::string& file : command.perplexity) {
    log::Progress progress("scoring " + fs::path(file).filename().string(), 1, "blocks");
    auto measures =
        eval::measure_text(scorers_of(subjects), reference, *subjects[0].tokenizer, read_text(file),
                           file, options, [&](int64_t done, int64_t all) {
                             progress.update(static_cast<double>(done) / static_cast<double>(all));
                           });
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      if (measures[i].divergence) measures[i].divergence->against = reference_name;
      subjects[i].facts.texts.push_back(std::move(measures[i]));
    }
  }
}

}  // namespace

eval::EvalResult model_facts(const std::string& path, const std::string& engine) {
  const ModelSize size = size_of(*format::Checkpoint::open(path));
  eval::EvalResult r;
  r.model = path;
  r.engine = engine;
  r.bytes = size.file_bytes;
  r.parameters = size.parameters;
  r.bits_per_weight = size.bits_per_weight();
  r.bits_per_weight_matrices = size.bits_per_weight_matrices();
  return r;
}

Subject open_runtime_subject(const CommonOptions& common, const EvalCommand& command,
                             const std::string& path) {
  const RuntimeOptions options{path, command.activations, command.kv, 0};
  Subject s;
  s.packed = open_runtime(common, options);
  s.facts = model_facts(path, cat("runtime ", kernels::isa_name(s.packed->options().isa), ", ",
                                  command.activations, " activations"));
  s.tokenizer = s.packed->tokenizer();
  s.scorer = std::make_unique<runtime::Session>(s.packed, session_options(common, options));
  return s;
}

int eval_command(const CommonOptions& common, const EvalCommand& command, const OpenSubject& open) {
  std::vector<Subject> subjects;
  for (const std::string& path : command.models)
    subjects.push_back(in_frame("opening " + path, [&] { return open(path, command.engine); }));
  CUPEL_CHECK(subjects[0].tokenizer, data, "'", command.models[0], "' has no tokenizer");
  Subject other;
  text::Scorer* reference =
      subjects.size() > 1 && command.against.empty() ? subjects[0].scorer.get() : nullptr;
  std::string reference_name = reference ? command.models[0] : command.against;
  if (!command.against.empty()) {
    other = in_frame("opening " + command.against,
                     [&] { return open(command.against, command.against_engine); });
    reference = other.scorer.get();
  }
  measure_texts(command, subjects, reference, reference_name);
  std::vector<eval::EvalResult> results;
  for (Subject& s : subjects) {
    if (command.speed && s.packed) measure_speed(common, s);
    results.push_back(s.facts);
  }
  std::string json = results.size() == 1 ? eval::to_json(results[0]) : "[";
  for (std::size_t i = 0; results.size() > 1 && i < results.size(); ++i)
    json += cat(i ? ",\n" : "\n", eval::to_json(results[i]), i + 1 == results.size() ? "\n]" : "");
  if (!command.json_file.empty()) write_atomic(command.json_file, json + "\n");
  if (!command.report_file.empty())
    write_atomic(command.report_file, eval::eval_report_html(command.models[0], results));
  print_out(common.json ? json + "\n" : eval::text_table(results));
  return 0;
}

}  // namespace cupel::cli
