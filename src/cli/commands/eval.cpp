// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/commands/eval.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/bits.h"
#include "cli/commands/eval_compare.h"
#include "eval/perplexity.h"
#include "eval/reference_file.h"
#include "eval/report.h"
#include "eval/targets.h"
#include "eval/task_table.h"
#include "format/checkpoint.h"
#include "net/url.h"
#include "runtime/bench.h"

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kLeastContext = 4096;  // positions; memory follows those that are used

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
  for (Subject& s : subjects)
    if (s.scorer) out.push_back(s.scorer.get());
  return out;
}

/// A path, or the address of a server.
Subject open_subject(const EvalCommand& command, const std::string& path, const std::string& engine,
                     const OpenSubject& open) {
  return in_frame("opening " + path, [&] {
    return net::is_url(path) ? open_server_subject(command, path) : open(path, engine);
  });
}

/// What divergence is measured from.
struct Against {
  Subject model;  ///< another model, when `saved` is null
  std::unique_ptr<eval::SavedReference> saved;
  text::Scorer* scorer = nullptr;
  std::string name;
};

bool is_saved(const std::string& path) {
  return path.ends_with(".cref") || eval::is_reference_file(path);
}

Against open_against(const EvalCommand& command, const std::vector<Subject>& subjects,
                     const OpenSubject& open) {
  Against out;
  out.name = command.against;
  if (command.against.empty()) {
    if (subjects.size() < 2) return out;
    out.scorer = subjects[0].scorer.get();
    out.name = command.models[0];
  } else if (is_saved(command.against)) {
    out.saved = std::make_unique<eval::SavedReference>(command.against);
  } else {
    out.model = open_subject(command, command.against, command.against_engine, open);
    out.scorer = out.model.scorer.get();
  }
  return out;
}

/// One tokenizer makes the ids that every model reads.
void check_tokenizers(const EvalCommand& command, const std::vector<Subject>& subjects,
                      const Against& against) {
  CUPEL_CHECK(subjects[0].tokenizer, data, "'", command.models[0],
              "' has no tokenizer, which --perplexity needs");
  std::vector<std::pair<std::string, const text::Tokenizer*>> others;
  for (std::size_t i = 1; i < subjects.size(); ++i)
    others.emplace_back(command.models[i], subjects[i].tokenizer.get());
  if (against.model.tokenizer) others.emplace_back(against.name, against.model.tokenizer.get());
  std::string first;
  for (const auto& [name, tokenizer] : others) {
    if (!tokenizer || tokenizer == subjects[0].tokenizer.get()) continue;
    if (first.empty()) first = eval::vocabulary_sha256(*subjects[0].tokenizer);
    CUPEL_CHECK(eval::vocabulary_sha256(*tokenizer) == first, user, "the tokenizers of '",
                command.models[0], "' and '", name,
                "' differ: their tokens have other texts, so one text can't be scored with both");
  }
}

eval::TextJob job_of(const EvalCommand& command, std::vector<Subject>& subjects,
                     const Against& against, const std::string& file) {
  eval::TextJob job;
  job.models = scorers_of(subjects);
  job.reference = against.scorer;
  job.saved = against.saved.get();
  job.tokenizer = subjects[0].tokenizer.get();
  job.corpus = eval::read_corpus(file, command.documents);
  job.options = {eval::protocol_from_name(command.protocol), command.length, command.blocks,
                 eval::rolling_bos_from_name(command.rolling_bos)};
  job.save_reference = command.save_reference;
  job.blocks_file = command.blocks_file;
  if (!command.blocks_file.empty())
    job.blocks = eval::find_block_list(read_text(command.blocks_file), command.blocks_file,
                                       job.corpus.sha256);
  return job;
}

void measure_texts(const EvalCommand& command, std::vector<Subject>& subjects,
                   const Against& against) {
  if (!command.perplexity.empty()) check_tokenizers(command, subjects, against);
  for (const std::string& file : command.perplexity) {
    eval::TextJob job = job_of(command, subjects, against, file);
    log::Progress progress("scoring " + fs::path(file).filename().string(), 1, "blocks");
    job.advance = [&](int64_t done, int64_t all) {
      progress.update(static_cast<double>(done) / static_cast<double>(all));
    };
    auto measures =
        subjects[0].server
            ? std::vector{eval::TextMeasure{measure_targets(*subjects[0].server, job), {}}}
            : eval::measure_text(job);
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      if (measures[i].divergence) measures[i].divergence->against = against.name;
      subjects[i].facts.texts.push_back(std::move(measures[i]));
    }
  }
}

void measure_tasks(const EvalCommand& command, std::vector<Subject>& subjects) {
  std::string samples;
  for (Subject& s : subjects) {
    if (command.tasks.tasks.empty()) return;
    CUPEL_CHECK(s.tokenizer, data, "'", s.facts.model, "' has no tokenizer, which --tasks needs");
    const auto local = s.scorer ? eval::likelihood_of(*s.scorer) : nullptr;
    eval::LikelihoodModel* likelihood = local ? local.get() : s.server.get();
    s.facts.tasks =
        run_tasks(command.tasks, {likelihood, s.generator, s.tokenizer.get(), s.identity});
    for (const eval::TaskResult& t : s.facts.tasks) samples += eval::samples_jsonl(t);
  }
  if (!command.tasks.samples_file.empty()) write_atomic(command.tasks.samples_file, samples);
}

/// A server tells the probabilities of given tokens alone.
void check_servers(const EvalCommand& command) {
  const auto& models = command.models;
  const bool server = std::any_of(models.begin(), models.end(), net::is_url);
  CUPEL_CHECK(server || net::is_url(command.against) || command.server.tokenizer.empty(), user,
              "--tokenizer is for a model behind a server; '", models[0], "' has its own");
  const bool alone = models.size() == 1 && command.against.empty();
  CUPEL_CHECK(alone || !(server || net::is_url(command.against)) || command.perplexity.empty(),
              user,
              "divergence needs the logits of the whole vocabulary, and a server tells the "
              "probabilities of given tokens alone; measure its perplexity by itself with 'cupel "
              "eval', without --against");
  CUPEL_CHECK(!server || command.save_reference.empty(), user,
              "--save-reference needs the logits of the whole vocabulary, and a server tells the "
              "probabilities of given tokens alone");
  CUPEL_CHECK(!server || !command.speed, user,
              "--speed measures models on the runtime, not behind a server");
  const bool sized = command.tasks.redline == 0 || command.speed;
  CUPEL_CHECK(!server || sized, user,
              "--redline chooses by speed or size, and neither is known of a server's model");
}

/// What one option asks of the others.
void check_command(const EvalCommand& command) {
  CUPEL_CHECK(!command.several || command.models.size() > 1 || !command.against.empty(), user,
              "compare needs two models or more, or --against; 'cupel eval' measures one");
  CUPEL_CHECK(command.blocks_file.empty() || command.blocks == 0, user,
              "--blocks and --blocks-file exclude each other");
  CUPEL_CHECK(command.save_reference.empty() ||
                  (command.models.size() == 1 && command.perplexity.size() == 1),
              user, "--save-reference needs one model and one --perplexity text");
  CUPEL_CHECK(command.tasks.samples_file.empty() || command.models.size() == 1, user,
              "--samples needs one model");
  check_servers(command);
}

/// Positions for the blocks that are asked for, as far as the model has them.
int64_t context_for(const EvalCommand& command, const format::ModelConfig& config) {
  const int64_t wanted = std::max(command.length, kLeastContext);
  return config.rope.type == "dynamic" ? wanted : std::min(wanted, config.max_positions);
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
  RuntimeOptions options{path, command.activations, command.kv, 0};
  Subject s;
  s.packed = open_runtime(common, options);
  options.context = context_for(command, s.packed->config());
  s.facts = model_facts(path, cat("runtime ", kernels::isa_name(s.packed->options().isa), ", ",
                                  command.activations, " activations, ", command.kv, " cache"));
  s.tokenizer = s.packed->tokenizer();
  auto session = std::make_unique<runtime::Session>(s.packed, session_options(common, options));
  s.generator = session.get();
  s.scorer = std::move(session);
  s.identity = cat(file_identity(path), s.facts.engine, " ", command.kv, " ", options.context);
  return s;
}

int eval_command(const CommonOptions& common, const EvalCommand& command, const OpenSubject& open) {
  check_command(command);
  std::vector<Subject> subjects;
  for (const std::string& path : command.models)
    subjects.push_back(open_subject(command, path, command.engine, open));
  measure_texts(command, subjects, open_against(command, subjects, open));
  measure_tasks(command, subjects);
  std::vector<eval::EvalResult> results;
  for (Subject& s : subjects) {
    if (command.speed && s.packed) measure_speed(common, s);
    results.push_back(s.facts);
  }
  const eval::ReportComparison comparison = compare_tasks(command.tasks, results);
  const std::string json = results_json(results, comparison);
  if (!command.json_file.empty()) write_atomic(command.json_file, json + "\n");
  if (!command.report_file.empty())
    write_atomic(command.report_file,
                 eval::eval_report_html(command.models[0], results, comparison));
  print_out(common.json ? json + "\n"
                        : cat(eval::text_table(results), eval::task_table(results),
                              comparison_text(comparison)));
  return 0;
}

}  // namespace cupel::cli
