// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/standard_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "format/score_merges.h"

namespace cupel::format {
namespace {

using Json = nlohmann::ordered_json;

Json replace(const char* kind, const char* pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}

class Converter {
 public:
  explicit Converter(Json json)
      : json_(std::move(json)), model_(json_.at("model")), kinds_(model_.at("vocab").size()) {
    for (const auto& [name, kind] :
         {std::pair{"user_defined", user_defined}, {"unused", unused}, {"reserved", reserved}})
      for (const Json& id : model_.at(name)) kinds_.at(id.get<std::size_t>()) = kind;
    for (const Json& entry : model_.at("vocab")) {
      const Kind kind = kinds_[pieces_.size()];
      pieces_.push_back({entry.at(0).get_ref<const std::string&>(), entry.at(1).get<float>(),
                         kind == normal || kind == unused});
    }
  }

  StandardTokenizer run() {
    const bool bpe = model_.at("type") == "SentencePieceBPE";
    const Json normalizer = this->normalizer(json_.at("normalizer"));
    if (!model_.at("unused").empty()) differ("pieces that are marked as unused");
    if (bpe) {
      if (!model_.at("user_defined").empty()) differ("white space beside user-defined pieces");
      add_user_defined();
    } else {
      differ("text that spells a control or byte piece");
      differ("sums of scores, which are rounded to single precision in the original");
    }
    Json model = bpe ? bpe_model() : unigram_model();
    json_["normalizer"] = normalizer;
    json_["model"] = std::move(model);
    return {json_.dump(), true, std::move(differences_)};
  }

 private:
  enum Kind : char { normal, user_defined, unused, reserved };

  void differ(const char* what) { differences_.emplace_back(what); }
  std::string_view text(const Json& id) const { return pieces_.at(id.get<std::size_t>()).text; }

  Json normalizer(const Json& n) {
    Json parts = Json::array();
    if (const std::string table = n.at("charsmap"); !table.empty()) {
      differ("the table of the normalizer, which is applied to whole graphemes");
      parts.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", table}});
    }
    if (n.at("remove_extra_whitespaces")) {
      parts.push_back(replace("Regex", " {2,}", " "));
      parts.push_back(replace("Regex", "\\A | \\z", ""));
      differ("U+2581 at the end of a text");
    }
    const bool suffix = n.at("whitespace_as_suffix");
    if (n.at("add_dummy_prefix") && suffix) differ("the space that is added at the end");
    if (n.at("add_dummy_prefix") && !suffix)
      parts.push_back({{"type", "Prepend"}, {"prepend", "\u2581"}});
    if (n.at("escape_whitespaces")) parts.push_back(replace("String", " ", "\u2581"));
    return {{"type", "Sequence"}, {"normalizers", parts}};
  }

  void add_user_defined() {
    for (const Json& id : model_.at("user_defined"))
      json_["added_tokens"].push_back({{"id", id},
                                       {"content", text(id)},
                                       {"single_word", false},
                                       {"lstrip", false},
                                       {"rstrip", false},
                                       {"normalized", false},
                                       {"special", false}});
  }

  Json bpe_model() {
    Json vocab = Json::object(), merges = Json::array();
    for (std::size_t id = 0; id < pieces_.size(); ++id)
      CUPEL_CHECK(vocab.emplace(pieces_[id].text, id).second, data, "the piece '", pieces_[id].text,
                  "' is listed twice");
    for (const auto& [left, right] : score_merges(pieces_)) merges.push_back({left, right});
    return {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", text(model_.at("unk_id"))},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", true},
            {"byte_fallback", model_.at("byte_fallback")},
            {"ignore_merges", false},
            {"vocab", std::move(vocab)},
            {"merges", std::move(merges)}};
  }

  // Pieces that are never found in text take the worst score, so that the unknown one costs what it
  // did; a user-defined piece has the score that it has there.
  Json unigram_model() {
    float worst = 0;
    for (std::size_t id = 0; id < pieces_.size(); ++id)
      if (kinds_[id] == normal) worst = std::min(worst, pieces_[id].score);
    Json vocab = Json::array();
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      const auto& [text, score, merges] = pieces_[id];
      const double given = kinds_[id] == normal ? score
                           : kinds_[id] == user_defined
                               ? 0.1 * (static_cast<double>(text.size()) - 1)
                               : worst;
      vocab.push_back({text, given});
    }
    return {{"type", "Unigram"},
            {"unk_id", model_.at("unk_id")},
            {"vocab", std::move(vocab)},
            {"byte_fallback", model_.at("byte_fallback")}};
  }

  Json json_;
  const Json model_;
  std::vector<Kind> kinds_;          // by id
  std::vector<ScoredPiece> pieces_;  // views of the model
  std::vector<std::string> differences_;
};

}  // namespace

StandardTokenizer standard_tokenizer(const std::string& json) {
  // Vocabularies are large: look before parsing.
  if (json.find("\"SentencePiece") == std::string::npos) return {json};
  try {
    Json parsed = Json::parse(json);
    const std::string type = parsed.at("model").value("type", "");
    if (type != "SentencePieceBPE" && type != "SentencePieceUnigram") return {json};
    return Converter(std::move(parsed)).run();
  } catch (const Json::exception& e) {
    fail(Fault::data, "tokenizer: ", e.what());
  } catch (const std::out_of_range&) {
    fail(Fault::data, "tokenizer: an id is not in the vocabulary");
  }
}

}  // namespace cupel::format
