// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "base/log.h"
#include "cli/commands/chat_prompt.h"
#include "cli/commands/commands.h"

namespace cupel::cli {

namespace {

std::atomic<bool> interrupted{false};

constexpr const char* kHelp =
    "  /help         this list\n"
    "  /reset        forget the conversation\n"
    "  /system TEXT  set the system message and start again\n"
    "  /quit         leave (also Ctrl-D); Ctrl-C stops an answer\n"
    "A line that ends in \\ goes on in the next one.\n";

/// One message of the user; false at the end of input.
bool read_message(bool prompt, std::string& out) {
  out.clear();
  for (std::string line;;) {
    if (prompt) std::fputs(out.empty() ? "> " : ". ", stderr);
    if (!std::getline(std::cin, line)) return !out.empty();
    if (!line.ends_with('\\')) {
      out += line;
      return true;
    }
    line.back() = '\n';
    out += line;
  }
}

class Chat {
 public:
  Chat(const CommonOptions& common, const ChatCommand& command)
      : command_(command),
        model_(open_runtime(common, command.runtime)),
        prompt_(*model_, command.chat_template),
        session_(model_, session_options(common, command.runtime)) {
    set_draft(session_, common, command.runtime, command.draft);
    reset(command.system);
  }

  int run() {
    const bool terminal = isatty(STDIN_FILENO);
    if (terminal) std::fputs("Type a message; /help lists commands.\n", stderr);
    for (std::string text; read_message(terminal, text);) {
      if (text.empty()) continue;
      if (text.starts_with("/")) {
        if (!obey(text)) return 0;
      } else {
        answer(text);
      }
    }
    return 0;
  }

 private:
  void reset(const std::string& system) {
    messages_.clear();
    if (!system.empty()) messages_.push_back({"system", system});
  }

  bool obey(const std::string& text) {
    if (text == "/quit" || text == "/exit") return false;
    if (text == "/reset")
      reset(messages_.empty() || messages_[0].role != "system" ? "" : messages_[0].content);
    else if (text.starts_with("/system "))
      reset(text.substr(8));
    else
      std::fputs(text == "/help" ? kHelp : "unknown command; /help lists them\n", stderr);
    return true;
  }

  void answer(const std::string& text) {
    messages_.push_back({"user", text});
    interrupted = false;
    const auto g =
        session_.generate(prompt_.tokens(messages_), command_.options, [](std::string_view piece) {
          print_out(piece);
          std::fflush(stdout);
          return !interrupted;
        });
    print_out("\n");
    std::fflush(stdout);
    messages_.push_back({"assistant", g.text});
    log::debug(
        "chat",
        cat(g.tokens.size(), " tokens, ",
            fixed(static_cast<double>(g.tokens.size()) / std::max(g.decode_seconds, 1e-9), 1),
            "/s"));
  }

  const ChatCommand& command_;
  std::shared_ptr<const runtime::Model> model_;
  ChatPrompt prompt_;
  runtime::Session session_;
  std::vector<text::Message> messages_;
};

}  // namespace

int chat_command(const CommonOptions& common, const ChatCommand& command) {
  std::signal(SIGINT, [](int) { interrupted = true; });
  return Chat(common, command).run();
}

}  // namespace cupel::cli
