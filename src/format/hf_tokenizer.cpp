// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "format/checkpoint_kinds.h"
#include "format/sentencepiece.h"

namespace cupel::format {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kEndTexts[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<|end|>",
    "<|end_of_turn|>",
    "<|return|>",
    "<|call|>",
    "<end_of_utterance>",
    "<EOT>",
    "[EOT]",
    "[EOS]",
    "</s>",
    "<eos>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "<|END_OF_TURN_TOKEN|>",
};

Json parse(const std::string& text, const fs::path& path) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    fail(Fault::data, "'", path.string(), "' is not valid JSON: ", e.what());
  }
}

/// An object of a file that may be absent.
Json object_of(const fs::path& path) {
  if (!fs::exists(path)) return Json::object();
  Json json = parse(plain_json(read_text(path.string())), path);
  CUPEL_CHECK(json.is_object(), data, "'", path.string(), "' is not a JSON object");
  return json;
}

/// The value of a top-level key of a JSON text that is known to be valid: [begin, end), or npos.
/// Copying 30 MB of vocabulary as text keeps it as it was written and costs nothing.
std::pair<std::size_t, std::size_t> top_level_value(std::string_view text, std::string_view key) {
  int depth = 0;
  std::size_t begin = std::string_view::npos;
  bool found = false, expects_key = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t start = i + 1;
      for (++i; text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
      if (depth == 1 && expects_key) found = text.substr(start, i - start) == key;
    } else if (c == '{' || c == '[') {
      ++depth;
      expects_key = depth == 1;
    } else if (c == '}' || c == ']' || (c == ',' && depth == 1)) {
      if (depth == 1 && found && begin != std::string_view::npos) return {begin, i};
      if (c != ',') --depth;
      expects_key = depth == 1;
    } else if (c == ':' && depth == 1) {
      expects_key = false;
      if (found) begin = i + 1;
    }
  }
  return {std::string_view::npos, std::string_view::npos};
}

/// A token named in tokenizer_config.json: a string, or an object with `content`.
std::string named_token(const Json& config, const std::string& key) {
  const auto it = config.find(key);
  if (it == config.end()) return "";
  if (it->is_string()) return it->get<std::string>();
  if (it->is_object() && it->contains("content") && (*it)["content"].is_string())
    return (*it)["content"].get<std::string>();
  return "";
}

int64_t number_of(const std::string& key) {
  int64_t out = 0;
  const char* end = key.data() + key.size();
  CUPEL_CHECK(!key.empty() && std::from_chars(key.data(), end, out).ptr == end && out >= 0, data,
              "tokenizer_config.json: added_tokens_decoder has the key '", key,
              "', an id expected");
  return out;
}

/// The tokenizer with the tokens of tokenizer_config.json's added_tokens_decoder and of
/// added_tokens.json that it lacks, in the order of their ids.
std::string with_later_tokens(std::string tokenizer, const fs::path& folder) {
  std::map<int64_t, Json> later;
  const Json old = object_of(folder / "added_tokens.json");
  for (const auto& [content, id] : old.items())
    later[id.get<int64_t>()] = {{"content", content}, {"special", false}};
  const Json config = object_of(folder / "tokenizer_config.json");
  const Json listed = config.value("added_tokens_decoder", Json::object());
  for (const auto& [id, token] : listed.items()) later[number_of(id)] = token;
  if (later.empty()) return tokenizer;
  Json json = Json::parse(tokenizer);
  std::set<std::string> known;
  for (const Json& token : json["added_tokens"]) known.insert(token["content"].get<std::string>());
  for (auto& [id, token] : later) {
    if (!known.insert(token.at("content").get<std::string>()).second) continue;
    const bool special = token.value("special", false);
    json["added_tokens"].push_back({{"id", id},
                                    {"content", token["content"]},
                                    {"single_word", token.value("single_word", false)},
                                    {"lstrip", token.value("lstrip", false)},
                                    {"rstrip", token.value("rstrip", false)},
                                    {"normalized", token.value("normalized", !special)},
                                    {"special", special}});
  }
  return json.dump();
}

class HfTokenizer {
 public:
  /// The text of a tokenizer.json, the file that it comes from, and the folder whose other files
  /// belong to it ("" when there is none). `roles`: what the file itself says ("bos_token": text).
  HfTokenizer(const fs::path& path, std::string text, const fs::path& folder,
              const std::vector<std::pair<std::string, std::string>>& roles = {})
      : path_(path), text_(std::move(text)), json_(parse(text_, path_)) {
    CUPEL_CHECK(json_.is_object(), data, "'", path_.string(), "' is not a JSON object");
    if (!folder.empty()) {
      config_ = object_of(folder / "tokenizer_config.json");
      generation_ = object_of(folder / "generation_config.json");
      model_ = object_of(folder / "config.json");
      read_template(folder);
    }
    for (const auto& [role, token] : roles)
      if (!config_.contains(role)) config_[role] = token;
    read_added();
    read_roles();
  }

  std::string merged() const {
    std::string out = text_;
    if (!post_processor_.empty()) set(out, "post_processor", post_processor_);
    set(out, "cupel", roles_.json());
    return out;
  }

 private:
  static void set(std::string& text, std::string_view key, const std::string& value) {
    if (const auto [begin, end] = top_level_value(text, key); begin != std::string::npos) {
      text.replace(begin, end - begin, value);
      return;
    }
    const std::size_t brace = text.find_last_of('}');
    const std::size_t last = text.find_last_not_of(" \t\r\n", brace - 1);
    text.insert(brace, cat(text[last] == '{' ? "" : ",", "\"", key, "\":", value));
  }

  void read_added() {
    for (const Json& token : json_.value("added_tokens", Json::array())) {
      CUPEL_CHECK(token.is_object() && token.contains("id") && token["id"].is_number_integer() &&
                      token.contains("content") && token["content"].is_string(),
                  data, "'", path_.string(), "': an added token lacks its id or content");
      const auto content = token["content"].get<std::string>();
      added_[content] = token["id"].get<int64_t>();
      if (token.value("special", false)) special_.emplace_back(content, added_[content]);
    }
  }

  std::optional<int64_t> id_of(const std::string& token) const {
    if (token.empty()) return std::nullopt;
    if (const auto it = added_.find(token); it != added_.end()) return it->second;
    const auto model = json_.find("model");
    if (model == json_.end() || !model->is_object()) return std::nullopt;
    const auto vocab = model->find("vocab");
    if (vocab == model->end() || !vocab->is_object()) return std::nullopt;
    const auto it = vocab->find(token);
    if (it == vocab->end() || !it->is_number_integer()) return std::nullopt;
    return it->get<int64_t>();
  }

  void read_template(const fs::path& folder) {
    const fs::path file = folder / "chat_template.jinja";
    if (fs::exists(file)) {
      roles_.chat_template = read_text(file.string());
      return;
    }
    const Json found = config_.value("chat_template", Json());
    if (found.is_string()) roles_.chat_template = found.get<std::string>();
    if (!found.is_array()) return;
    for (const Json& entry : found)
      if (entry.is_object() && entry.value("name", "") == "default")
        roles_.chat_template = entry.value("template", "");
  }

  void add_ends(const Json& ids) {
    for (const Json& id : ids.is_array() ? ids : Json::array({ids}))
      if (id.is_number_integer() && id.get<int64_t>() >= 0)
        roles_.end_tokens.push_back(id.get<int64_t>());
  }

  void read_roles() {
    for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"})
      if (std::string token = named_token(config_, name); !token.empty())
        roles_.special_tokens.emplace_back(name, token);
    const std::optional<int64_t> added = added_bos();
    roles_.bos = id_of(named_token(config_, "bos_token"));
    if (!roles_.bos && !config_.contains("bos_token")) roles_.bos = added;
    if (!roles_.bos && !config_.contains("bos_token"))
      for (const Json* source : {&generation_, &model_})
        if (const Json id = source->value("bos_token_id", Json());
            !roles_.bos && id.is_number_integer() && id.get<int64_t>() >= 0)
          roles_.bos = id.get<int64_t>();
    add_ends(generation_.value("eos_token_id", Json()));
    add_ends(model_.value("eos_token_id", Json()));
    if (const auto eos = id_of(named_token(config_, "eos_token")))
      roles_.end_tokens.push_back(*eos);
    add_end_tokens(roles_.end_tokens, special_);
    roles_.add_bos = added.has_value();
    rebuild_post_processor();
  }

  /// The template of the post-processor, which may be one of a sequence; null when there is none.
  Json post_template() const {
    const Json post = json_.value("post_processor", Json());
    if (!post.is_object()) return Json();
    if (post.value("type", "") == "TemplateProcessing") return post;
    for (const Json& part : post.value("processors", Json::array()))
      if (part.is_object() && part.value("type", "") == "TemplateProcessing") return part;
    return Json();
  }

  /// Id of the special token that the post-processor puts before the text.
  std::optional<int64_t> added_bos() const {
    const Json post = post_template();
    if (!post.is_object()) return std::nullopt;
    const Json single = post.value("single", Json::array());
    if (single.size() < 2 || !single.front().contains("SpecialToken")) return std::nullopt;
    return id_of(single.front()["SpecialToken"].value("id", ""));
  }
  bool adds_eos() const {
    const Json post = post_template();
    if (!post.is_object()) return false;
    const Json single = post.value("single", Json::array());
    return single.size() > 1 && single.back().contains("SpecialToken");
  }

  /// add_bos_token and add_eos_token, where stated, overrule the post-processor.
  void rebuild_post_processor() {
    const Json bos_flag = config_.value("add_bos_token", Json());
    const Json eos_flag = config_.value("add_eos_token", Json());
    if (!bos_flag.is_boolean() && !eos_flag.is_boolean()) return;
    const std::string bos = named_token(config_, "bos_token");
    const std::string eos = named_token(config_, "eos_token");
    const auto bos_id = id_of(bos), eos_id = id_of(eos);
    const bool had_bos = roles_.add_bos, had_eos = adds_eos();
    const bool want_bos = (bos_flag.is_boolean() ? bos_flag.get<bool>() : had_bos) && bos_id;
    const bool want_eos = (eos_flag.is_boolean() ? eos_flag.get<bool>() : had_eos) && eos_id;
    roles_.add_bos = want_bos;
    if (want_bos == had_bos && want_eos == had_eos) return;
    post_processor_ =
        template_processing(want_bos ? std::optional(NamedToken(bos, *bos_id)) : std::nullopt,
                            want_eos ? std::optional(NamedToken(eos, *eos_id)) : std::nullopt);
  }

  fs::path path_;
  std::string text_;
  Json json_;
  Json config_ = Json::object(), generation_ = Json::object(), model_ = Json::object();
  std::map<std::string, int64_t> added_;
  std::vector<NamedToken> special_;
  std::string post_processor_;  ///< "" keeps the one of the file
  TokenRoles roles_;
};

/// A tokenizer.model is the truth only where there is no tokenizer.json. Tokens that were added to
/// it later stand in the files beside it.
std::string sentencepiece_json(const fs::path& file, const fs::path& folder) {
  return in_frame(cat("reading the tokenizer '", file.string(), "'"), [&] {
    try {
      SentencePieceTokenizer t = read_sentencepiece(read_text(file.string()));
      return HfTokenizer(file, with_later_tokens(std::move(t.json), folder), folder,
                         t.special_tokens)
          .merged();
    } catch (const Json::exception& e) {
      fail(Fault::data, "a value has the wrong type: ", e.what());
    }
  });
}

}  // namespace

std::string TokenRoles::json() const {
  nlohmann::ordered_json out;
  out["bos"] = bos ? nlohmann::ordered_json(*bos) : nlohmann::ordered_json();
  out["end_tokens"] = end_tokens;
  out["chat_template"] = chat_template;
  out["add_bos"] = add_bos;
  out["special_tokens"] = nlohmann::ordered_json::object();
  for (const auto& [name, text] : special_tokens) out["special_tokens"][name] = text;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_end_tokens(std::vector<int64_t>& ends, const std::vector<NamedToken>& special) {
  // Where a format closes turns with <|return|>, <|end|> only separates the parts of one.
  const bool harmony = std::any_of(special.begin(), special.end(),
                                   [](const NamedToken& t) { return t.first == "<|return|>"; });
  for (const auto& [text, id] : special)
    if (std::find(std::begin(kEndTexts), std::end(kEndTexts), text) != std::end(kEndTexts) &&
        !(harmony && text == "<|end|>"))
      ends.push_back(id);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

std::string template_processing(const std::optional<NamedToken>& before,
                                const std::optional<NamedToken>& after) {
  using Ordered = nlohmann::ordered_json;
  Ordered out = {{"type", "TemplateProcessing"}}, tokens = Ordered::object();
  const auto part = [&](const char* sequence, int type) {
    Ordered list = Ordered::array();
    const auto special = [&](const std::optional<NamedToken>& t) {
      if (!t) return;
      list.push_back({{"SpecialToken", {{"id", t->first}, {"type_id", type}}}});
      tokens[t->first] = {{"id", t->first},
                          {"ids", Ordered::array({t->second})},
                          {"tokens", Ordered::array({t->first})}};
    };
    special(before);
    list.push_back({{"Sequence", {{"id", sequence}, {"type_id", type}}}});
    special(after);
    return list;
  };
  out["single"] = part("A", 0);
  out["pair"] = part("A", 0);
  for (const Ordered& entry : part("B", 1)) out["pair"].push_back(entry);
  out["special_tokens"] = tokens;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string tokenizer_file_json(const std::string& file, const std::string& folder) {
  return in_frame(cat("reading the tokenizer '", file, "'"), [&] {
    try {
      return HfTokenizer(file, read_text(file), folder).merged();
    } catch (const Json::exception& e) {
      fail(Fault::data, "a value has the wrong type: ", e.what());
    }
  });
}

std::string hf_tokenizer_json(const std::string& folder) {
  const fs::path json = fs::path(folder) / "tokenizer.json";
  if (fs::exists(json)) return tokenizer_file_json(json.string(), folder);
  const fs::path model = fs::path(folder) / "tokenizer.model";
  return fs::exists(model) ? sentencepiece_json(model, folder) : "";
}

}  // namespace cupel::format
