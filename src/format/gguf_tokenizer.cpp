// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "format/checkpoint_kinds.h"
#include "format/score_merges.h"

namespace cupel::format {
namespace {

using Json = nlohmann::ordered_json;

// Splitting rules. A GGUF file names one; the pattern itself is an interface fact of the tokenizer
// behind the name.
#define CUPEL_LETTERS_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CUPEL_LETTERS_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define CUPEL_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define CUPEL_SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

constexpr const char* kLlama3 = CUPEL_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" CUPEL_SPACES;
constexpr const char* kQwen2 = CUPEL_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" CUPEL_SPACES;
constexpr const char* kQwen35 = CUPEL_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
    "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" CUPEL_SPACES;
constexpr const char* kO200k =
    "[^\\r\\n\\p{L}\\p{N}]?" CUPEL_LETTERS_UPPER "*" CUPEL_LETTERS_LOWER "+" CUPEL_CONTRACTIONS
    "?"
    "|[^\\r\\n\\p{L}\\p{N}]?" CUPEL_LETTERS_UPPER "+" CUPEL_LETTERS_LOWER "*" CUPEL_CONTRACTIONS
    "?"
    "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" CUPEL_SPACES;
constexpr const char* kTekken =
    "[^\\r\\n\\p{L}\\p{N}]?" CUPEL_LETTERS_UPPER "*" CUPEL_LETTERS_LOWER
    "+"
    "|[^\\r\\n\\p{L}\\p{N}]?" CUPEL_LETTERS_UPPER "+" CUPEL_LETTERS_LOWER
    "*"
    "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" CUPEL_SPACES;
constexpr const char* kDeepSeekNumbers = "\\p{N}{1,3}";
constexpr const char* kDeepSeekCjk = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr const char* kDeepSeekMain =
    "[!\"#$%&'()*+,\\-./"
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";

enum class Split { gpt2, digits_gpt2, patterns };

/// What a name in `tokenizer.ggml.pre` stands for.
struct Rule {
  std::vector<const char*> names;
  Split split;
  std::vector<const char*> patterns;
  bool nfc, ignore_merges, add_bos;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {{"gpt-2", "phi-2", "default"}, Split::gpt2, {}, false, false, false},
      {{"olmo"}, Split::gpt2, {}, true, false, false},
      {{"smollm", "refact", "starcoder"}, Split::digits_gpt2, {}, false, false, false},
      {{"command-r"}, Split::digits_gpt2, {}, true, false, true},
      {{"llama-bpe", "llama3", "llama-v3"}, Split::patterns, {kLlama3}, false, true, true},
      {{"dbrx"}, Split::patterns, {kLlama3}, false, false, false},
      {{"qwen2", "deepseek-r1-qwen"}, Split::patterns, {kQwen2}, true, false, false},
      {{"qwen35"}, Split::patterns, {kQwen35}, true, false, false},
      {{"gpt-4o"}, Split::patterns, {kO200k}, false, false, false},
      {{"tekken"}, Split::patterns, {kTekken}, false, true, true},
      {{"deepseek-v3"},
       Split::patterns,
       {kDeepSeekNumbers, kDeepSeekCjk, kDeepSeekMain},
       false,
       false,
       true},
  };
  return all;
}

const Rule& rule_of(const std::string& name) {
  std::vector<std::string> known;
  for (const Rule& r : rules())
    for (const char* n : r.names) {
      if (name == n) return r;
      known.emplace_back(n);
    }
  fail(Fault::data, "tokenizer.ggml.pre '", name,
       "' is not supported; splitting text by another "
       "rule would give other tokens (known: ",
       list_text(known), ")");
}

Json byte_level(bool use_regex, bool prefix_space = false) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

Json pre_tokenizer(const Rule& rule) {
  if (rule.split == Split::gpt2) return byte_level(true);
  Json parts = Json::array();
  if (rule.split == Split::digits_gpt2)
    parts.push_back({{"type", "Digits"}, {"individual_digits", true}});
  for (const char* pattern : rule.patterns)
    parts.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  parts.push_back(byte_level(rule.split == Split::digits_gpt2));
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

std::string quoted(std::string_view text, std::string_view what) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail(Fault::data, what, " is not valid UTF-8");
  }
}

enum TokenType : int64_t { normal = 1, unknown, control, user_defined, unused, byte };

/// A tokenizer's tables as views into the file.
class GgufTokenizer {
 public:
  explicit GgufTokenizer(const GgufFile& file) : file_(file) {
    model_ = file.text("tokenizer.ggml.model").value_or("");
    CUPEL_CHECK(model_ == "gpt2" || model_ == "llama", data, "tokenizer.ggml.model '", model_,
                "' is not supported (known: gpt2, llama)");
    const auto tokens = file.texts("tokenizer.ggml.tokens");
    CUPEL_CHECK(tokens && !tokens->empty(), data, "tokenizer.ggml.tokens is missing");
    tokens_ = *tokens;
    types_ = file.integers("tokenizer.ggml.token_type")
                 .value_or(std::vector<int64_t>(tokens_.size(), normal));
    CUPEL_CHECK(types_.size() == tokens_.size(), data, "tokenizer.ggml.token_type has ",
                types_.size(), " entries for ", tokens_.size(), " tokens");
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      CUPEL_CHECK(ids_.emplace(tokens_[i], i).second, data, "token '", tokens_[i],
                  "' occurs twice in the vocabulary");
    read_roles();
  }

  std::string json() const {
    const bool sentencepiece = model_ == "llama";
    const Rule* rule = sentencepiece ? nullptr : &rule_of(pre());
    const bool prefix = file_.flag("tokenizer.ggml.add_space_prefix").value_or(true);
    const Json no_normalizer, nfc = {{"type", "NFC"}};
    std::string out = "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":";
    out += added_tokens();
    out += ",\"normalizer\":";
    out += (sentencepiece ? space_normalizer(prefix) : rule->nfc ? nfc : no_normalizer).dump();
    out += ",\"pre_tokenizer\":";
    out += (sentencepiece ? Json() : pre_tokenizer(*rule)).dump();
    out += ",\"post_processor\":";
    out += template_processing(roles_.add_bos ? named(roles_.bos) : std::nullopt,
                               adds_eos() ? named(eos_) : std::nullopt);
    out += ",\"decoder\":";
    out += (sentencepiece ? space_decoder(prefix) : byte_level(true, true)).dump();
    out += ",\"model\":";
    out += sentencepiece ? model_json(true, false, score_merges())
                         : model_json(false, rule->ignore_merges, listed_merges());
    return out + ",\"cupel\":" + roles_.json() + "}";
  }

 private:
  std::string pre() const { return file_.text("tokenizer.ggml.pre").value_or("default"); }

  bool adds_eos() const {
    return eos_ && file_.flag("tokenizer.ggml.add_eos_token").value_or(false);
  }

  std::optional<NamedToken> named(std::optional<int64_t> id) const {
    if (!id) return std::nullopt;
    return NamedToken(tokens_[static_cast<std::size_t>(*id)], *id);
  }

  std::optional<int64_t> id_at(std::string_view role) const {
    const std::string key = cat("tokenizer.ggml.", role, "_token_id");
    if (!file_.has(key)) return std::nullopt;
    const auto& value = file_.metadata().find(key)->second;
    const bool none = std::all_of(value.bytes.begin(), value.bytes.end(),
                                  [](std::byte b) { return b == std::byte{0xff}; });
    if (none) return std::nullopt;  // -1, in whatever type
    const auto id = file_.integer(key);
    CUPEL_CHECK(*id < static_cast<int64_t>(tokens_.size()), data, "'", key, "' is ", *id,
                ", but there are ", tokens_.size(), " tokens");
    return id;
  }

  void read_roles() {
    roles_.bos = id_at("bos");
    eos_ = id_at("eos");
    const bool usual = model_ == "llama" || rule_of(pre()).add_bos;
    roles_.add_bos = roles_.bos && file_.flag("tokenizer.ggml.add_bos_token").value_or(usual);
    for (const char* role : {"eos", "eot", "eom"})
      if (const auto id = id_at(role)) roles_.end_tokens.push_back(*id);
    std::vector<NamedToken> special;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (types_[i] == control || types_[i] == user_defined)
        special.emplace_back(tokens_[i], static_cast<int64_t>(i));
    add_end_tokens(roles_.end_tokens, special);
    roles_.chat_template = file_.text("tokenizer.chat_template").value_or("");
    const std::pair<const char*, const char*> names[] = {{"bos", "bos_token"},
                                                         {"eos", "eos_token"},
                                                         {"unknown", "unk_token"},
                                                         {"padding", "pad_token"}};
    for (const auto& [role, name] : names)
      if (const auto token = named(id_at(role)))
        roles_.special_tokens.emplace_back(name, token->first);
  }

  std::string added_tokens() const {
    std::string out = "[";
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (types_[i] != control && types_[i] != user_defined && types_[i] != unknown) continue;
      out += cat(out.size() > 1 ? "," : "", "{\"id\":", i,
                 ",\"content\":", quoted(tokens_[i], cat("token ", i)),
                 ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,"
                 "\"special\":",
                 types_[i] != user_defined, "}");
    }
    return out + "]";
  }

  static Json space_normalizer(bool prefix) {
    const Json replace = {
        {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
    if (!prefix) return replace;
    return {{"type", "Sequence"},
            {"normalizers", Json::array({{{"type", "Prepend"}, {"prepend", "\u2581"}}, replace})}};
  }
  static Json space_decoder(bool prefix) {
    Json parts =
        Json::array({{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
                     {{"type", "ByteFallback"}},
                     {{"type", "Fuse"}}});
    if (prefix) parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return {{"type", "Sequence"}, {"decoders", parts}};
  }

  std::string model_json(bool fallback, bool ignore_merges,
                         const std::vector<MergedPair>& merges) const {
    const auto unk = fallback ? named(id_at("unknown").value_or(0)) : std::nullopt;
    std::string out = cat("{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":",
                          unk ? quoted(unk->first, "the unknown token") : "null",
                          ",\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,"
                          "\"fuse_unk\":",
                          fallback, ",\"byte_fallback\":", fallback,
                          ",\"ignore_merges\":", ignore_merges, ",\"vocab\":{");
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      out += cat(i > 0 ? "," : "", quoted(tokens_[i], cat("token ", i)), ":", i);
    out += "},\"merges\":[";
    bool first = true;
    for (const auto& [left, right] : merges) {
      out += cat(first ? "[" : ",[", quoted(left, "a merge"), ",", quoted(right, "a merge"), "]");
      first = false;
    }
    return out + "]}";
  }

  std::vector<MergedPair> listed_merges() const {
    const auto lines = file_.texts("tokenizer.ggml.merges");
    CUPEL_CHECK(lines, data, "tokenizer.ggml.merges is missing");
    std::vector<MergedPair> out;
    out.reserve(lines->size());
    for (const std::string_view line : *lines) {
      const std::size_t space = line.find(' ', 1);
      CUPEL_CHECK(space != std::string_view::npos && space + 1 < line.size(), data, "the merge '",
                  line, "' is not a pair");
      out.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
    return out;
  }

  std::vector<MergedPair> score_merges() const {
    const auto scores = file_.reals("tokenizer.ggml.scores");
    CUPEL_CHECK(scores && scores->size() == tokens_.size(), data,
                "tokenizer.ggml.scores is missing or has another length than the vocabulary");
    std::vector<ScoredPiece> pieces;
    pieces.reserve(tokens_.size());
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      const bool merges = types_[id] == normal || types_[id] == unused;
      CUPEL_CHECK(!merges || std::isfinite((*scores)[id]), data, "the score of token ", id,
                  " is not finite");
      pieces.push_back({tokens_[id], (*scores)[id], merges});
    }
    return format::score_merges(pieces);
  }

  const GgufFile& file_;
  std::string model_;
  std::vector<std::string_view> tokens_;
  std::vector<int64_t> types_;
  std::unordered_map<std::string_view, std::size_t> ids_;
  std::optional<int64_t> eos_;
  TokenRoles roles_;
};

}  // namespace

std::string gguf_tokenizer_note(const GgufFile& file) {
  if (file.text("tokenizer.ggml.model").value_or("") != "gpt2") return "";
  if (file.text("tokenizer.ggml.pre").value_or("default") != "default") return "";
  return "the tokenizer does not say how it splits text (tokenizer.ggml.pre is missing or "
         "'default'): GPT-2's rule is used, which is often wrong";
}

std::string gguf_tokenizer_json(const GgufFile& file) {
  if (!file.has("tokenizer.ggml.model")) return "";
  return in_frame(cat("reading the tokenizer of '", file.path(), "'"),
                  [&] { return GgufTokenizer(file).json(); });
}

}  // namespace cupel::format
