// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/threads.h"
#include "cli/commands/chat_prompt.h"
#include "cli/commands/commands.h"

namespace cupel::cli {

namespace {

std::string reason(text::FinishReason r) {
  switch (r) {
    case text::FinishReason::stop:
      return "stop";
    case text::FinishReason::length:
      return "length";
    case text::FinishReason::cancelled:
      return "cancelled";
  }
  return "";
}

std::vector<text::Token> prompt_tokens(const GenerateCommand& command,
                                       const runtime::Model& model) {
  CUPEL_CHECK(model.tokenizer(), data, "'", command.runtime.model, "' has no tokenizer");
  const std::string text = text_argument(command.prompt);
  CUPEL_CHECK(command.chat_template.empty() || command.chat, user, "--chat-template needs --chat");
  if (command.chat) return ChatPrompt(model, command.chat_template).tokens({{"user", text}});
  return model.tokenizer()->encode(text, {command.special, true});
}

std::string guesses_text(const text::Generation& g) {
  return g.guessed == 0 ? "" : cat(g.guessed_right, " of ", g.guessed, " guesses right, ");
}

void print_json(const text::Generation& g, double load) {
  const nlohmann::ordered_json out = {
      {"prompt_tokens", g.prompt_tokens},
      {"tokens", g.tokens},
      {"text", g.text},
      {"finish_reason", reason(g.finish)},
      {"guessed", g.guessed},
      {"guessed_right", g.guessed_right},
      {"seconds", {{"load", load}, {"prompt", g.prompt_seconds}, {"decode", g.decode_seconds}}}};
  print_out(out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace

int generate_command(const CommonOptions& common, const GenerateCommand& command) {
  const double start = now_seconds();
  const auto model = open_runtime(common, command.runtime);
  const auto prompt = prompt_tokens(command, *model);
  runtime::Session session(model, session_options(common, command.runtime));
  set_draft(session, common, command.runtime, command.draft);
  const double load = now_seconds() - start;
  const auto stream = [&](std::string_view piece) {
    if (common.json) return true;
    print_out(piece);
    return std::fflush(stdout) == 0;
  };
  const text::Generation g = session.generate(prompt, command.options, stream);
  if (common.json) {
    print_json(g, load);
    return 0;
  }
  print_out("\n");
  const auto rate = [](double n, double s) { return s > 0 ? fixed(n / s, 1) : std::string("-"); };
  log::debug("generate", cat(g.prompt_tokens, " prompt tokens at ",
                             rate(static_cast<double>(g.prompt_tokens), g.prompt_seconds), "/s, ",
                             g.tokens.size(), " tokens at ",
                             rate(static_cast<double>(g.tokens.size()), g.decode_seconds), "/s, ",
                             guesses_text(g), reason(g.finish)));
  return 0;
}

}  // namespace cupel::cli
