// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The pipeline of a tokenizer.json. Order: added tokens in the raw text; each rest is normalized on
// its own; added tokens in the normalized text; pre-tokenizers; model; what the post-processor
// adds.

#include "text/tokenizer.h"

#include <map>

#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "text/added_tokens.h"
#include "text/byte_level.h"
#include "text/decoder.h"
#include "text/model.h"
#include "text/piece_cache.h"
#include "text/post_processor.h"
#include "text/pretokenizer.h"
#include "text/sentencepiece.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

class JsonTokenizer : public Tokenizer {
 public:
  explicit JsonTokenizer(const TokenizerJson& json);

  std::vector<Token> encode(std::string_view utf8, EncodeOptions options) const override;
  std::string decode(std::span<const Token> ids, bool skip_special) const override;
  int64_t size() const override { return std::max(model_->vocabulary().size(), added_.size()); }
  bool is_special(Token id) const override { return added_.is_special(id); }
  Token find(std::string_view token) const override {
    const Token id = added_.find(token);
    return id >= 0 ? id : model_->vocabulary().find(token);
  }
  Token bos() const override { return bos_; }
  const std::vector<Token>& end_tokens() const override { return end_tokens_; }
  const std::string& chat_template() const override { return chat_template_; }
  std::string special_text(std::string_view name) const override {
    const auto found = special_text_.find(name);
    return found == special_text_.end() ? std::string() : found->second;
  }

 private:
  void read_pipeline(const Part& root);
  void read_own(const Part& part);
  Token known_id(const Part& part, int64_t id) const;
  void encode_piece(std::string_view piece, PieceCache& cache, std::vector<Token>& out) const;

  std::unique_ptr<Model> model_;
  std::unique_ptr<Normalizer> normalizer_;
  PreTokenizers pretokenizers_;
  std::unique_ptr<Decoder> decoder_;
  AddedTokens added_;
  Surround surround_;
  Token bos_ = -1;
  std::vector<Token> end_tokens_;
  std::string chat_template_;
  std::map<std::string, std::string, std::less<>> special_text_;
};

std::unique_ptr<Model> make_model(const Part& part, const ModelTables& tables) {
  const std::string type = part.has("type") ? part.type()
                           : !tables.vocabulary.empty()
                               ? "BPE"  // files from before types were written
                               : "Unigram";
  if (type == "BPE") return make_bpe(part, tables);
  if (type == "Unigram") return make_unigram(part, tables);
  if (type == "SentencePieceBPE") return make_sentencepiece_bpe(part, tables);
  if (type == "SentencePieceUnigram") return make_sentencepiece_unigram(part, tables);
  part.unknown_type();
}

JsonTokenizer::JsonTokenizer(const TokenizerJson& json) {
  const Part root = json.root();
  // Truncation and padding belong to batches; neither changes which tokens a text has.
  root.known({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
              "post_processor", "decoder", "model", "cupel"});
  if (root.has("version") && root.text("version") != "1.0")
    root.refuse(cat("version '", root.text("version"), "' is not supported"));
  model_ = make_model(root.child("model"), json.tables());
  read_pipeline(root);
  if (root.has("cupel")) read_own(root.child("cupel"));
}

void JsonTokenizer::read_pipeline(const Part& root) {
  if (root.has("normalizer")) normalizer_ = make_normalizer(root.child("normalizer"));
  if (root.has("pre_tokenizer")) pretokenizers_ = make_pretokenizers(root.child("pre_tokenizer"));
  if (root.has("decoder")) decoder_ = make_decoder(root.child("decoder"));
  if (root.has("added_tokens"))
    added_ = AddedTokens(root.list("added_tokens"), model_->vocabulary(), normalizer_.get(),
                         [](const std::string& line) { log::warn("text", line); });
  if (root.has("post_processor")) surround_ = read_post_processor(root.child("post_processor"));
}

Token JsonTokenizer::known_id(const Part& part, int64_t id) const {
  if (id < 0 || id >= size())
    part.refuse(cat("id ", id, " is not below ", size(), ", the size of the vocabulary"));
  return static_cast<Token>(id);
}

void JsonTokenizer::read_own(const Part& part) {
  part.known({"bos", "end_tokens", "chat_template", "add_bos", "special_tokens"});
  if (part.has("special_tokens")) {
    const Part special = part.child("special_tokens");
    for (const std::string& name : special.keys()) special_text_[name] = special.text(name.c_str());
  }
  if (part.has("bos")) bos_ = known_id(part, part.integer("bos"));
  if (part.has("end_tokens"))
    for (const int64_t id : part.integers("end_tokens")) end_tokens_.push_back(known_id(part, id));
  if (part.has("chat_template")) chat_template_ = part.text("chat_template");
  if (!part.has("add_bos")) return;
  surround_ = {};
  if (!part.flag("add_bos")) return;
  if (bos_ < 0) part.refuse("'add_bos' needs 'bos'");
  surround_.before = {bos_};
}

void JsonTokenizer::encode_piece(std::string_view piece, PieceCache& cache,
                                 std::vector<Token>& out) const {
  if (cache.get(piece, out)) return;
  const std::size_t before = out.size();
  if (pretokenizers_.map_bytes) {
    std::string mapped;
    append_byte_level(mapped, piece);
    model_->tokenize(mapped, out);
  } else {
    model_->tokenize(piece, out);
  }
  cache.put(piece, std::span(out).subspan(before));
}

std::vector<Token> JsonTokenizer::encode(std::string_view utf8, EncodeOptions options) const {
  std::string repaired;
  if (utf8_valid_prefix(utf8) != utf8.size()) utf8 = repaired = utf8_lossy(utf8);
  std::vector<Token> out;
  out.reserve(utf8.size() / 3 + 8);
  if (options.add_special) out = surround_.before;
  PieceCache cache(utf8.size());
  const auto to_model = [&](const Piece& piece) { encode_piece(piece.text, cache, out); };
  const auto normalized = [&](std::string_view text, bool at_start) {
    added_.split(text, true, options.special_text,
                 [&](std::string_view stretch, std::size_t start, Token id) {
                   const Piece piece{stretch, at_start && start == 0};
                   if (id >= 0)
                     out.push_back(id);
                   else if (pretokenizers_.steps)
                     pretokenizers_.steps->split(piece, to_model);
                   else
                     to_model(piece);
                 });
  };
  added_.split(utf8, false, options.special_text,
               [&](std::string_view stretch, std::size_t start, Token id) {
                 if (id >= 0) {
                   out.push_back(id);
                 } else if (normalizer_) {
                   std::string text(stretch);
                   normalizer_->apply(text);
                   normalized(text, start == 0);
                 } else {
                   normalized(stretch, start == 0);
                 }
               });
  if (options.add_special) out.insert(out.end(), surround_.after.begin(), surround_.after.end());
  return out;
}

std::string JsonTokenizer::decode(std::span<const Token> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const Token id : ids) {
    if (const AddedToken* added = added_.get(id)) {
      if (!(skip_special && added->special)) tokens.push_back(added->decoded);
    } else if (model_->vocabulary().has(id)) {
      tokens.emplace_back(model_->vocabulary().text(id));
    }
  }
  if (decoder_) decoder_->apply(tokens);
  std::string out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !decoder_) out += ' ';
    out += tokens[i];
  }
  return out;
}

}  // namespace

std::shared_ptr<const Tokenizer> Tokenizer::from_json(std::string_view json) {
  return std::make_shared<JsonTokenizer>(TokenizerJson(json));
}

}  // namespace cupel::text
