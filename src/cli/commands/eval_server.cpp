// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cstdlib>

#include "base/error.h"
#include "cli/commands/eval.h"
#include "format/checkpoint.h"

namespace cupel::cli {

Subject open_server_subject(const EvalCommand& command, const std::string& address) {
  const ServerCommand& options = command.server;
  CUPEL_CHECK(!options.tokenizer.empty(), user,
              "a model behind a server needs --tokenizer MODEL: a "
              "folder, a .gguf, a .cupel or a tokenizer.json with the tokenizer of the model that "
              "is served");
  const char* key = std::getenv("OPENAI_API_KEY");
  Subject s;
  s.tokenizer = text::Tokenizer::from_json(format::tokenizer_json_of(options.tokenizer));
  s.server = std::make_unique<eval::CompletionServer>(
      eval::ServerOptions{.address = address,
                          .api_key = key ? key : "",
                          .positions = options.positions,
                          .connections = options.concurrency,
                          .batch = options.batch,
                          .answer_seconds = options.answer_seconds},
      s.tokenizer);
  s.generator = s.server.get();
  s.facts.model = s.server->description();
  s.facts.engine = s.server->engine();
  s.identity = cat(s.facts.model, " ", s.facts.engine, " ", s.server->max_length(), "\n",
                   file_identity(options.tokenizer));
  return s;
}

}  // namespace cupel::cli
