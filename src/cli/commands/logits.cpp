// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands/commands.h"

namespace cupel::cli {

int logits_command(const CommonOptions& common, const LogitsCommand& command) {
  const auto model = open_runtime(common, command.runtime);
  const auto ids = parse_ids(command.ids);
  for (const text::Token id : ids)
    CUPEL_CHECK(id >= 0 && id < model->config().vocab, user, "--ids: ", id,
                " is outside the vocabulary of ", model->config().vocab);
  runtime::Session session(model, session_options(common, command.runtime));
  nlohmann::json rows = nlohmann::json::array();
  session.score(ids, command.last ? static_cast<int64_t>(ids.size()) - 1 : 0,
                [&](const text::LogitRows& piece) {
                  for (int64_t r = 0; r < piece.rows; ++r)
                    rows.push_back(std::vector<float>(piece.row(r).begin(), piece.row(r).end()));
                });
  if (common.json) {
    print_out(nlohmann::json{{"logits", rows}}.dump() + "\n");
    return 0;
  }
  std::string text;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      text += cat(row[i].get<float>(), i + 1 < row.size() ? " " : "\n");
  print_out(text);
  return 0;
}

}  // namespace cupel::cli
