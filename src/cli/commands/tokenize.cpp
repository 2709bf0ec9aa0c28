// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "cli/commands/commands.h"
#include "format/checkpoint.h"
#include "text/chat_template.h"

namespace cupel::cli {

int tokenize_command(const CommonOptions& common, const TokenizeCommand& command) {
  using nlohmann::ordered_json;
  const auto tokenizer = text::Tokenizer::from_json(format::tokenizer_json_of(command.model));
  if (!command.ids.empty()) {
    const auto ids = parse_ids(command.ids);
    for (const text::Token id : ids)
      CUPEL_CHECK(id >= 0 && id < tokenizer->size(), user, "--ids: ", id,
                  " is outside the vocabulary of ", tokenizer->size());
    const std::string text = tokenizer->decode(ids, false);
    print_out(common.json ? ordered_json{{"text", text}}.dump(
                                -1, ' ', false, ordered_json::error_handler_t::replace) +
                                "\n"
                          : text + "\n");
    return 0;
  }
  CUPEL_CHECK(command.has_text || !command.file.empty(), user,
              "tokenize needs TEXT, --file FILE or --ids");
  const std::string text =
      command.file.empty() ? text_argument(command.text) : read_text(command.file);
  const auto ids = tokenizer->encode(text, {command.special, command.bos});
  if (common.json) {
    print_out(ordered_json{{"tokens", ids}}.dump() + "\n");
    return 0;
  }
  std::string line;
  for (const text::Token id : ids) line += cat(line.empty() ? "" : " ", id);
  print_out(line + "\n");
  return 0;
}

int render_command(const CommonOptions&, const RenderCommand& command) {
  const bool file = command.source.ends_with(".jinja") || command.source.ends_with(".txt");
  std::string source;
  if (file) {
    source = read_text(command.source);
  } else {
    source = text::Tokenizer::from_json(format::tokenizer_json_of(command.source))->chat_template();
    CUPEL_CHECK(!source.empty(), data, "'", command.source, "' has no chat template");
  }
  print_out(text::Template::parse(source).render(read_text(command.context)));
  return 0;
}

}  // namespace cupel::cli
