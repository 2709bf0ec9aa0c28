// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/sentencepiece.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/checkpoint_kinds.h"

namespace cupel::format {
namespace {

using Json = nlohmann::ordered_json;

/// The fields of one protobuf message, in order.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}
  /// False at the end.
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    number = static_cast<int>(std::min<uint64_t>(key >> 3, INT32_MAX));
    wire = static_cast<int>(key & 7);
    if (wire == 0)
      value = varint();
    else if (wire == 1)
      bytes = take(8);
    else if (wire == 2)
      bytes = take(varint());
    else if (wire == 5)
      bytes = take(4);
    else
      damaged();
    return true;
  }
  int64_t integer() const { return expect(0), static_cast<int64_t>(value); }
  bool flag() const { return integer() != 0; }
  std::string_view text() const { return expect(2), bytes; }
  float real() const {
    expect(5);
    uint32_t bits = 0;
    for (int i = 3; i >= 0; --i)
      bits = bits << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    return std::bit_cast<float>(bits);
  }
  int number = 0;

 private:
  [[noreturn]] static void damaged() {
    fail(Fault::data,
         "this is not a SentencePiece model: the protobuf is damaged, or it is another kind of "
         "file, such as a list of tiktoken");
  }
  void expect(int type) const {
    if (wire != type) damaged();
  }
  uint64_t varint() {
    uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      out |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return out;
    }
    damaged();
  }
  std::string_view take(uint64_t length) {
    if (length > rest_.size()) damaged();
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return out;
  }

  std::string_view rest_;
  int wire = 0;
  uint64_t value = 0;
  std::string_view bytes;
};

enum Type { normal = 1, unknown, control, user_defined, unused, byte };

struct Piece {
  std::string text;
  float score = 0;
  int64_t type = normal;
};

constexpr int64_t kUnigram = 1, kBpe = 2;

/// What the protobuf says, with its defaults.
struct Model {
  std::vector<Piece> pieces;
  int64_t kind = kUnigram;
  bool byte_fallback = false, whitespace_as_suffix = false;
  std::string unk = "<unk>", bos = "<s>", eos = "</s>", pad = "<pad>";
  std::string_view charsmap;
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
};

Piece read_piece(std::string_view message) {
  Piece out;
  for (Fields f(message); f.next();) {
    if (f.number == 1) out.text = f.text();
    if (f.number == 2) out.score = f.real();
    if (f.number == 3) out.type = f.integer();
  }
  return out;
}

void read_trainer(std::string_view message, Model& model) {
  for (Fields f(message); f.next();) {
    if (f.number == 3) model.kind = f.integer();
    if (f.number == 24) model.whitespace_as_suffix = f.flag();
    if (f.number == 35) model.byte_fallback = f.flag();
    if (f.number == 45) model.unk = f.text();
    if (f.number == 46) model.bos = f.text();
    if (f.number == 47) model.eos = f.text();
    if (f.number == 48) model.pad = f.text();
  }
}

void read_normalizer(std::string_view message, Model& model) {
  for (Fields f(message); f.next();) {
    if (f.number == 2) model.charsmap = f.text();
    if (f.number == 3) model.add_dummy_prefix = f.flag();
    if (f.number == 4) model.remove_extra_whitespaces = f.flag();
    if (f.number == 5) model.escape_whitespaces = f.flag();
  }
}

Model read_model(std::string_view protobuf) {
  Model out;
  for (Fields f(protobuf); f.next();) {
    if (f.number == 1) out.pieces.push_back(read_piece(f.text()));
    if (f.number == 2) read_trainer(f.text(), out);
    if (f.number == 3) read_normalizer(f.text(), out);
  }
  CUPEL_CHECK(!out.pieces.empty(), data, "this is not a SentencePiece model: it holds no pieces");
  CUPEL_CHECK(out.kind == kUnigram || out.kind == kBpe, data, "the model type ", out.kind,
              " is not supported: BPE (2) or Unigram (1) expected");
  for (std::size_t i = 0; i < out.pieces.size(); ++i) {
    const Piece& p = out.pieces[i];
    CUPEL_CHECK(p.type >= normal && p.type <= byte, data, "piece ", i, " '", p.text,
                "' has the unknown type ", p.type);
    CUPEL_CHECK(std::isfinite(p.score), data, "the score of piece ", i, " '", p.text,
                "' is not finite");
    CUPEL_CHECK(!p.text.empty(), data, "piece ", i, " is empty");
  }
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i)
      out += at + i > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * i) & 63];
  }
  return out;
}

class Writer {
 public:
  explicit Writer(Model model) : model_(std::move(model)) {}

  SentencePieceTokenizer write() const {
    Json out = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
    out["added_tokens"] = added_tokens();
    out["normalizer"] = normalizer();
    out["pre_tokenizer"] = nullptr;
    const auto bos = named(model_.bos);
    out["post_processor"] =
        bos ? Json::parse(template_processing(bos, std::nullopt)) : Json(nullptr);
    out["decoder"] = decoder();
    out["model"] = model();
    SentencePieceTokenizer result;
    try {
      result.json = out.dump();
    } catch (const Json::exception&) {
      fail(Fault::data, "a piece is not valid UTF-8");
    }
    const std::pair<const char*, const std::string*> roles[] = {{"bos_token", &model_.bos},
                                                                {"eos_token", &model_.eos},
                                                                {"unk_token", &model_.unk},
                                                                {"pad_token", &model_.pad}};
    for (const auto& [role, text] : roles)
      if (named(*text)) result.special_tokens.emplace_back(role, *text);
    return result;
  }

 private:
  /// A control piece or the unknown one by its text.
  std::optional<NamedToken> named(const std::string& text) const {
    for (std::size_t id = 0; id < model_.pieces.size(); ++id)
      if (const Piece& p = model_.pieces[id];
          (p.type == control || p.type == unknown) && p.text == text)
        return NamedToken(text, static_cast<int64_t>(id));
    return std::nullopt;
  }

  std::vector<std::size_t> ids_of(std::initializer_list<int> types) const {
    std::vector<std::size_t> out;
    for (std::size_t id = 0; id < model_.pieces.size(); ++id)
      if (std::find(types.begin(), types.end(), model_.pieces[id].type) != types.end())
        out.push_back(id);
    return out;
  }

  Json added_tokens() const {
    Json out = Json::array();
    for (const std::size_t id : ids_of({unknown, control}))
      out.push_back({{"id", id},
                     {"content", model_.pieces[id].text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
    return out;
  }

  Json normalizer() const {
    Json symbols = Json::array();
    for (const std::size_t id : ids_of({user_defined})) symbols.push_back(model_.pieces[id].text);
    return {{"type", "SentencePiece"},
            {"charsmap", base64(model_.charsmap)},
            {"add_dummy_prefix", model_.add_dummy_prefix},
            {"remove_extra_whitespaces", model_.remove_extra_whitespaces},
            {"escape_whitespaces", model_.escape_whitespaces},
            {"whitespace_as_suffix", model_.whitespace_as_suffix},
            {"user_defined", symbols}};
  }

  Json decoder() const {
    Json parts =
        Json::array({{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
                     {{"type", "ByteFallback"}},
                     {{"type", "Fuse"}}});
    const bool prefix = model_.add_dummy_prefix && !model_.whitespace_as_suffix;
    if (prefix || model_.remove_extra_whitespaces)
      parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return {{"type", "Sequence"}, {"decoders", parts}};
  }

  Json model() const {
    const auto unk = ids_of({unknown});
    CUPEL_CHECK(unk.size() == 1, data, "there must be one unknown piece, not ", unk.size());
    Json vocab = Json::array();
    for (const Piece& p : model_.pieces)
      vocab.push_back(Json::array({p.text, static_cast<double>(p.score)}));
    return {{"type", model_.kind == kBpe ? "SentencePieceBPE" : "SentencePieceUnigram"},
            {"unk_id", unk[0]},
            {"byte_fallback", model_.byte_fallback},
            {"user_defined", ids_of({user_defined})},
            {"unused", ids_of({unused})},
            {"reserved", ids_of({unknown, control, byte})},
            {"vocab", std::move(vocab)}};
  }

  Model model_;
};

}  // namespace

SentencePieceTokenizer read_sentencepiece(std::string_view protobuf) {
  return Writer(read_model(protobuf)).write();
}

}  // namespace cupel::format
