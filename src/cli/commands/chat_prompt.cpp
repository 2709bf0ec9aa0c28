// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/commands/chat_prompt.h"

#include "base/error.h"
#include "base/file.h"

namespace cupel::cli {

namespace {

text::Template parsed(const runtime::Model& model, const std::string& file) {
  CUPEL_CHECK(model.tokenizer(), data, "'", model.path(), "' has no tokenizer");
  if (!file.empty())
    return in_frame("reading the chat template " + file,
                    [&] { return text::Template::parse(read_text(file)); });
  CUPEL_CHECK(!model.tokenizer()->chat_template().empty(), data, "'", model.path(),
              "' has no chat template; --chat-template FILE gives one, generate needs none");
  return in_frame("reading the chat template of " + model.path(),
                  [&] { return text::Template::parse(model.tokenizer()->chat_template()); });
}

/// Stands for a message's text while the template is rendered. Private-use characters: no
/// vocabulary merges over them.
std::string marker(std::size_t i) {
  return cat("\xEE\x80\x80", i, "\xEE\x80\x81");
}

}  // namespace

ChatPrompt::ChatPrompt(const runtime::Model& model, const std::string& file)
    : tokenizer_(model.tokenizer()), template_(parsed(model, file)) {
  bos_ = tokenizer_->special_text("bos_token");
  eos_ = tokenizer_->special_text("eos_token");
}

std::vector<text::Token> ChatPrompt::tokens(const std::vector<text::Message>& messages) const {
  // The template's own text may hold special tokens, the messages may not: render with markers,
  // then encode the pieces apart where a message holds special text, and as a whole where it does
  // not.
  const std::string whole = text::render_chat(template_, messages, true, bos_, eos_);
  bool plain = true;
  for (const auto& m : messages) {
    const auto typed = tokenizer_->encode(m.content, {true, false});
    for (const text::Token id : typed) plain = plain && !tokenizer_->is_special(id);
  }
  if (plain) return tokenizer_->encode(whole, {true, false});

  std::vector<text::Message> marked = messages;
  for (std::size_t i = 0; i < marked.size(); ++i) marked[i].content = marker(i);
  std::string rest = text::render_chat(template_, marked, true, bos_, eos_);
  std::vector<text::Token> out;
  const auto append = [&](std::string_view piece, bool special) {
    const auto ids = tokenizer_->encode(piece, {special, false});
    out.insert(out.end(), ids.begin(), ids.end());
  };
  for (std::size_t i = 0; i < marked.size(); ++i) {
    const std::size_t at = rest.find(marker(i));
    CUPEL_CHECK(
        at != std::string::npos, data,
        "the chat template changes or drops messages, so special text in them can't be kept apart");
    append(std::string_view(rest).substr(0, at), true);
    append(messages[i].content, false);
    rest.erase(0, at + marker(i).size());
  }
  append(rest, true);
  return out;
}

}  // namespace cupel::cli
