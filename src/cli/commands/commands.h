// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>

#include "cli/commands/common.h"
#include "text/generator.h"

namespace cupel::cli {

/// What guesses for generate and chat (runtime/draft.h).
struct DraftOptions {
  std::string model;  ///< a smaller model; or
  bool lookup = false;
  int64_t tokens = 0;  ///< guessed at a time; 0: 3 of them
};
void set_draft(runtime::Session& session, const CommonOptions& common,
               const RuntimeOptions& runtime, const DraftOptions& draft);

struct GenerateCommand {
  RuntimeOptions runtime;
  DraftOptions draft;
  std::string prompt;
  bool special = false;       ///< special-token text in the prompt becomes special tokens
  bool chat = false;          ///< the prompt is a user's message: the chat template is applied
  std::string chat_template;  ///< a template file instead of the model's own
  text::GenerateOptions options;
};
int generate_command(const CommonOptions& common, const GenerateCommand& command);

struct ChatCommand {
  RuntimeOptions runtime;
  DraftOptions draft;
  std::string system;
  std::string chat_template;  ///< a template file instead of the model's own
  text::GenerateOptions options;
};
int chat_command(const CommonOptions& common, const ChatCommand& command);

struct BenchCommand {
  RuntimeOptions runtime;
  int64_t prompt = 512, generate = 128, depth = 0;
  int repeats = 5;
};
int bench_command(const CommonOptions& common, const BenchCommand& command);

struct LogitsCommand {
  RuntimeOptions runtime;
  std::string ids;
  bool last = false;
};
int logits_command(const CommonOptions& common, const LogitsCommand& command);

struct InspectCommand {
  std::string model;
  bool verify = false;
};
int inspect_command(const CommonOptions& common, const InspectCommand& command);

struct TokenizeCommand {
  std::string model, text, file, ids;
  bool has_text = false, special = false, bos = false;
};
int tokenize_command(const CommonOptions& common, const TokenizeCommand& command);

struct RenderCommand {
  std::string source, context;
};
int render_command(const CommonOptions& common, const RenderCommand& command);

}  // namespace cupel::cli
