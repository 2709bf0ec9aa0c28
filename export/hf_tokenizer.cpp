// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "export/hf_tokenizer.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "format/standard_tokenizer.h"
#include "text/tokenizer.h"

namespace cupel::export_ {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Each piece alone, repeated, and before others.
std::vector<std::string> probes(const text::Tokenizer& tokenizer) {
  std::vector<std::string> pieces, out;
  for (text::Token id = 0; id < tokenizer.size(); ++id)
    pieces.push_back(tokenizer.decode({&id, 1}, false));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string &p = pieces[i], &next = pieces[(i + 1) % pieces.size()];
    const std::string& other = pieces[i * 7919 % pieces.size()];
    for (const std::string& text : {p, p + p, p + p + p, p + next, p + " " + other, other + p})
      out.push_back(text);
  }
  return out;
}

void compare(const std::string& ours, const format::StandardTokenizer& standard) {
  const auto a = text::Tokenizer::from_json(ours), b = text::Tokenizer::from_json(standard.json);
  const std::vector<std::string> texts = probes(*a);
  std::size_t different = 0;
  std::string example;
  for (const std::string& text : texts)
    if (a->encode(text) != b->encode(text) && different++ == 0)
      example =
          cat(", the first is ", Json(text).dump(-1, ' ', true, Json::error_handler_t::replace));
  const std::string outcome = cat(different, " of ", texts.size(),
                                  " texts made from the vocabulary get other ids", example);
  if (different == 0 && standard.differences.empty())
    return log::info(
        "export", cat("tokenizer.json has standard parts instead of SentencePiece's: ", outcome));
  std::string why;
  for (const std::string& difference : standard.differences)
    why += cat(why.empty() ? "" : "; ", difference);
  log::warn("export", cat("tokenizer.json has standard parts instead of SentencePiece's, which are "
                          "not exact for this model",
                          why.empty() ? "" : " (" + why + ")", ": ", outcome));
}

}  // namespace

void write_hf_tokenizer(const std::string& folder, const std::string& tokenizer_json) {
  const fs::path root(folder);
  const format::StandardTokenizer standard = format::standard_tokenizer(tokenizer_json);
  if (standard.converted) compare(tokenizer_json, standard);
  nlohmann::json json = nlohmann::json::parse(standard.json);
  const nlohmann::json roles = json.value("cupel", nlohmann::json::object());
  json.erase("cupel");
  write_atomic((root / "tokenizer.json").string(), json.dump());

  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false}};
  const nlohmann::json special = roles.value("special_tokens", nlohmann::json::object());
  for (const auto& [name, token] : special.items()) config[name] = token;
  if (const std::string chat = roles.value("chat_template", ""); !chat.empty())
    config["chat_template"] = chat;
  write_atomic((root / "tokenizer_config.json").string(), config.dump(2) + "\n");

  Json generation = Json::object();
  if (const nlohmann::json bos = roles.value("bos", nlohmann::json()); bos.is_number())
    generation["bos_token_id"] = bos;
  if (const nlohmann::json ends = roles.value("end_tokens", nlohmann::json()); !ends.empty())
    generation["eos_token_id"] = ends;
  write_atomic((root / "generation_config.json").string(), generation.dump(2) + "\n");
}

void copy_tokenizer_model(const std::string& from, const std::string& to) {
  const fs::path source = fs::path(from) / "tokenizer.model";
  if (fs::is_regular_file(source))
    write_atomic((fs::path(to) / "tokenizer.model").string(), read_text(source.string()));
}

}  // namespace cupel::export_
