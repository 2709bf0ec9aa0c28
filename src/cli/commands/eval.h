// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/common.h"
#include "cli/commands/eval_tasks.h"
#include "eval/result.h"
#include "eval/server/completion_server.h"
#include "text/scorer.h"

namespace cupel::cli {

/// A model under evaluation: what it is, how big, and its Scorer.
struct Subject {
  eval::EvalResult facts;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::unique_ptr<text::Scorer> scorer;  ///< null for a model behind a server
  std::unique_ptr<eval::CompletionServer> server;
  text::Generator* generator = nullptr;  ///< belongs to `scorer` or `server`
  std::string identity;                  ///< files, engine and arithmetic: what answers depend on
  std::shared_ptr<const runtime::Model> packed;  ///< when the runtime runs it
};
/// Opens a path with an engine (auto | runtime | torch) that the program has.
using OpenSubject = std::function<Subject(const std::string& path, const std::string& engine)>;

/// The options of `cupel eval` that concern models behind a server.
struct ServerCommand {
  std::string tokenizer;               ///< a model or a tokenizer file
  int64_t concurrency = 4, batch = 1;  ///< requests at a time, prompts in one
  int64_t positions = 0;               ///< of the model; 0: what the server says
  double answer_seconds = 600;
};

struct EvalCommand {
  std::vector<std::string> models;
  bool several = false;                 ///< `compare`
  std::string against;                  ///< a model, or a file that --save-reference wrote
  std::vector<std::string> perplexity;  ///< text files
  std::string protocol = "gptq";
  std::string rolling_bos = "once";  ///< once | compat
  int64_t length = 2048, blocks = 0, documents = 0;
  std::string blocks_file;              ///< JSON of an earlier run: score the same blocks
  std::string save_reference;           ///< keep this model's predictions in a file
  std::string engine = "auto";          ///< auto | runtime | torch
  std::string against_engine = "auto";  ///< the same for `against`
  std::string dtype = "float32";        ///< arithmetic (torch engine)
  std::string weights_dtype =
      "stored";  ///< stored | float32 | bfloat16 | float16: rounding of weights after reading
  std::string activations = "exact", kv = "f32";
  ServerCommand server;
  TaskCommand tasks;
  std::string json_file, report_file;
  bool speed = false;  ///< measure tokens/s of packed models
};

/// `cupel eval` (one model) and `cupel compare` (several; the first is the reference unless
/// --against names one).
int eval_command(const CommonOptions& common, const EvalCommand& command, const OpenSubject& open);

/// A subject on the bundled runtime.
Subject open_runtime_subject(const CommonOptions& common, const EvalCommand& command,
                             const std::string& path);
/// A subject behind a server. Fault::user without a tokenizer.
Subject open_server_subject(const EvalCommand& command, const std::string& address);
/// Size and name of a model file.
eval::EvalResult model_facts(const std::string& path, const std::string& engine);

}  // namespace cupel::cli
