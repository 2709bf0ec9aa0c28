// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands/common.h"
#include "cli/commands/eval.h"
#include "cli/version.h"

namespace cupel::cli {

inline void add_verbosity(CLI::App& command, CommonOptions& common) {
  command.add_flag("-v,--verbose", common.verbose, "more messages");
  command.add_flag("-q,--quiet", common.quiet, "errors only");
}

inline void add_json(CLI::App& command, CommonOptions& common) {
  command.add_flag("--json", common.json, "one JSON object on standard output");
}

/// Where and how the work is done, for commands that compute.
inline void add_compute(CLI::App& command, CommonOptions& common) {
  command.add_option("--threads", common.threads, "threads (0: as many as this process may use)")
      ->check(CLI::Range(0, 4096));
  command.add_option("--device", common.device, "auto, cpu, cuda or cuda:N");
  command.add_option("--isa", common.isa,
                     "CPU kernels of the runtime: auto, scalar, avx2 or avx512");
}

/// LibTorch on a GPU; the runtime gives equal results always.
inline void add_deterministic(CLI::App& command, CommonOptions& common) {
  command.add_flag("--deterministic", common.deterministic,
                   "equal results run after run, at some cost on a GPU");
}

inline void add_runtime(CLI::App& command, RuntimeOptions& options) {
  command
      .add_option("MODEL", options.model, "a .cupel file, a .gguf file or a Hugging Face folder")
      ->required();
  command.add_option("--activations", options.activations,
                     "exact (two int8 passes) or int8 (faster prompts)");
  command.add_option("--kv", options.kv, "type of the KV cache: f16, f32, int8, int4 or fp8");
  command.add_option("--context", options.context,
                     "positions of the KV cache (0: the model's, at most 4096)");
}

inline void add_tasks(CLI::App& command, TaskCommand& t) {
  command
      .add_option("--tasks", t.tasks, "names or .yaml files: a,b (--list-tasks shows the names)")
      ->delimiter(',');
  command
      .add_flag_callback(
          "--list-tasks",
          [] {
            print_out(task_list());
            throw CLI::Success();
          },
          "the tasks that come with the program")
      ->trigger_on_parse();
  command.add_option("--data", t.data, "folder of the tasks' data files");
  command.add_option("--limit", t.limit, "first rows only; below 1 a share (0: all)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--num-fewshot", t.num_fewshot, "shots, instead of the task's")
      ->check(CLI::Range(0, 1000));
  command.add_option("--samples", t.samples_file, "write one JSON line a row here");
  command.add_option("--cache", t.cache,
                     "keep answers in this folder, and use those that are there");
  command.add_flag("--apply-chat-template", t.apply_chat_template, "ask as a conversation");
  command.add_flag("--fewshot-as-multiturn", t.fewshot_as_multiturn, "shots as turns of their own");
  command.add_option("--system-instruction", t.system, "stands before the task's description");
  command.add_option("--margin", t.margin, "loss in points that would matter, for verdicts")
      ->check(CLI::Range(0.01, 100.0));
  command.add_option("--confidence", t.confidence, "confidence of verdicts in percent")
      ->check(CLI::Range(50.0, 99.99));
  command
      .add_option(
          "--redline", t.redline,
          "choose the fastest (--speed) or smallest model that loses at most this share, in "
          "percent, of the answers that the first one has right")
      ->check(CLI::Range(0.0, 99.0));
  command.add_flag("--allow-code-execution", t.allow_code_execution,
                   "run programs that the model wrote, in a sandbox");
}

inline void add_server(CLI::App& command, ServerCommand& s) {
  command.add_option("--tokenizer", s.tokenizer,
                     "tokenizer of a model behind a server: a model or a tokenizer.json");
  command.add_option("--concurrency", s.concurrency, "requests to a server at a time")
      ->check(CLI::Range(1, 1024));
  command.add_option("--batch-size", s.batch, "prompts in one request to a server")
      ->check(CLI::Range(1, 4096));
  command
      .add_option("--max-length", s.positions,
                  "positions of a server's model (0: what the server says)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--timeout", s.answer_seconds, "seconds that a server's answer may take")
      ->check(CLI::Range(0.1, 86400.0));
}

/// `--json` takes a file here; without one (`--json -`) the object goes to standard output.
inline void add_eval(CLI::App& command, CommonOptions& common, EvalCommand& e, bool several) {
  auto* models =
      command
          .add_option("MODEL", e.models,
                      "models: .cupel, .gguf, a Hugging Face folder, or http://host:port/v1#name")
          ->required();
  if (!several) models->expected(1);
  command.parse_complete_callback([&e, several] { e.several = several; });
  command.add_option("--perplexity", e.perplexity,
                     "a text to score, or a .jsonl of pages (repeatable)");
  command.add_option("--protocol", e.protocol, "gptq, llamacpp or words");
  command.add_option("--rolling-bos", e.rolling_bos,
                     "protocol words: once, or compat (BOS twice, as lm-eval 0.4.13)");
  command.add_option("--length", e.length, "tokens a block")->check(CLI::Range(2, 1 << 20));
  command.add_option("--blocks", e.blocks, "first blocks only (0: all)");
  command.add_option("--documents", e.documents, "first pages of a .jsonl only (0: all)");
  command.add_option("--blocks-file", e.blocks_file,
                     "score the blocks that an earlier run listed in its --json file");
  command.add_option("--save-reference", e.save_reference,
                     "keep the model's predictions in this .cref file, for --against");
  command.add_option("--against", e.against,
                     "what to measure divergence from: a model, or a .cref file");
  command.add_option("--engine", e.engine, "auto, runtime or torch")
      ->check(CLI::IsMember({"auto", "runtime", "torch"}));
  command.add_option("--against-engine", e.against_engine, "auto, runtime or torch, for --against")
      ->check(CLI::IsMember({"auto", "runtime", "torch"}));
  command.add_option("--dtype", e.dtype, "arithmetic of the torch engine");
  command.add_option("--weights-dtype", e.weights_dtype,
                     "round weights after reading: stored, float32, bfloat16, float16");
  command.add_option("--activations", e.activations, "runtime engine: exact or int8");
  command.add_option("--kv", e.kv, "runtime engine: type of the KV cache, as for generate");
  add_tasks(command, e.tasks);
  add_server(command, e.server);
  command.add_option("--json", e.json_file, "write the result here ('-': standard output)");
  command.add_option("--report", e.report_file, "write an HTML report here");
  command.add_flag("--speed,!--no-speed", e.speed, "measure tokens/s of models on the runtime");
  add_compute(command, common);
  add_deterministic(command, common);
  add_verbosity(command, common);
}

/// Parses; help and mistakes are printed as CLI11 does, a mistake exits with 2. Returns -1 to go
/// on.
inline int parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return -1;
}

}  // namespace cupel::cli
