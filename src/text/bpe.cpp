// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Byte pair encoding: the neighbours whose merge stands first in the list are joined, leftmost
// first, until no merge applies. O(n log n) in the length of a piece; where no merge can cross, a
// long piece is worked on in parts.

#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/bpe_merger.h"
#include "text/model.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

constexpr std::size_t kWorthSplitting = 32;  // symbols

class Bpe : public Model {
 public:
  Bpe(const Part& part, const ModelTables& tables);
  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  using Symbols = std::vector<Symbol>;
  void read_merges(const Part& part, const ModelTables& tables);
  void add_merge(const Part& part, const std::string& left, const std::string& right,
                 uint32_t rank);
  Token character(std::string_view piece, std::size_t start, std::size_t end) const;
  bool bytes_instead(std::string_view piece, std::size_t start, std::size_t end,
                     Symbols& symbols) const;
  void start(std::string_view piece, Symbols& symbols) const;
  std::size_t part_end(const Symbols& symbols, std::size_t from) const;
  char32_t first_character(Token id) const {
    std::size_t pos = 0;
    return utf8_next(vocabulary_.text(id), pos);
  }
  char32_t last_character(Token id) const {
    const std::string_view text = vocabulary_.text(id);
    std::size_t pos = utf8_before(text, text.size());
    return utf8_next(text, pos);
  }

  Vocabulary vocabulary_;
  BpeMerger merger_;
  std::array<Token, 0x180> low_{};  // ids of the characters below U+0180: all of the byte alphabet
  std::array<Token, 256> byte_tokens_{};  // ids of <0x00>.., -1 when missing
  std::string prefix_, suffix_;           // of characters that are not first, that are last
  std::string unknown_text_;
  Token unknown_ = -1;
  bool fuse_unknown_ = false, byte_fallback_ = false, ignore_merges_ = false;
};

Bpe::Bpe(const Part& part, const ModelTables& tables) : vocabulary_(tables.vocabulary) {
  // `dropout` is for training: what is encoded here must not depend on chance.
  part.known({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
              "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (part.has("continuing_subword_prefix")) prefix_ = part.text("continuing_subword_prefix");
  if (part.has("end_of_word_suffix")) suffix_ = part.text("end_of_word_suffix");
  fuse_unknown_ = part.flag("fuse_unk", false);
  byte_fallback_ = part.flag("byte_fallback", false);
  ignore_merges_ = part.flag("ignore_merges", false);
  if (part.has("unk_token")) {
    unknown_text_ = part.text("unk_token");
    unknown_ = vocabulary_.find(unknown_text_);
  }
  for (unsigned b = 0; b < 256; ++b)
    byte_tokens_[b] = vocabulary_.find(byte_token(static_cast<unsigned char>(b)));
  for (char32_t c = 0; c < low_.size(); ++c) {
    std::string text;
    utf8_append(text, c);
    low_[c] = vocabulary_.find(text);
  }
  read_merges(part, tables);
}

void Bpe::read_merges(const Part& part, const ModelTables& tables) {
  merger_.reserve(tables.merges.size() + tables.joined_merges.size());
  uint32_t rank = 0;
  for (const auto& [left, right] : tables.merges) add_merge(part, left, right, rank++);
  for (const std::string& both : tables.joined_merges) {
    if (both.rfind("#version", 0) == 0) continue;
    const auto space = both.find(' ');
    if (space == both.npos || both.find(' ', space + 1) != both.npos)
      part.refuse(cat("merge '", both, "' must be two tokens with one space between them"));
    add_merge(part, both.substr(0, space), both.substr(space + 1), rank++);
  }
}

void Bpe::add_merge(const Part& part, const std::string& left, const std::string& right,
                    uint32_t rank) {
  const auto id_of = [&](const std::string& text) {
    const Token id = vocabulary_.find(text);
    if (id < 0 || text.empty())
      part.refuse(cat("merge ", rank, " ('", left, "' + '", right, "'): '", text,
                      "' is not in the vocabulary"));
    return id;
  };
  const Token left_id = id_of(left), right_id = id_of(right);
  if (right.size() < prefix_.size())
    part.refuse(cat("merge ", rank, ": '", right, "' lacks the prefix"));
  const Token result = id_of(left + right.substr(prefix_.size()));
  merger_.add(left_id, right_id, {rank, result}, last_character(left_id),
              first_character(right_id));
}

Token Bpe::character(std::string_view piece, std::size_t start, std::size_t end) const {
  const bool decorated =
      (!prefix_.empty() && start > 0) || (!suffix_.empty() && end == piece.size());
  const std::string_view text = piece.substr(start, end - start);
  if (!decorated) {
    std::size_t pos = 0;
    const char32_t c = text.size() <= 2 ? utf8_next(text, pos) : U'\uFFFF';
    return c < low_.size() ? low_[c] : vocabulary_.find(text);
  }
  return vocabulary_.find(cat(start > 0 ? prefix_ : "", text, end == piece.size() ? suffix_ : ""));
}

bool Bpe::bytes_instead(std::string_view piece, std::size_t start, std::size_t end,
                        Symbols& symbols) const {
  const std::string text = cat(start > 0 ? prefix_ : "", piece.substr(start, end - start),
                               end == piece.size() ? suffix_ : "");
  const auto token = [&](char b) { return byte_tokens_[static_cast<unsigned char>(b)]; };
  if (!std::all_of(text.begin(), text.end(), [&](char b) { return token(b) >= 0; })) return false;
  for (const char b : text) symbols.push_back({token(b)});
  return true;
}

// One symbol per character. An unknown one waits until a known one comes, so that neighbours can be
// fused; bytes do not end the wait (that is how tokenizers orders them).
void Bpe::start(std::string_view piece, Symbols& symbols) const {
  symbols.clear();
  bool waiting = false;
  for (std::size_t pos = 0; pos < piece.size();) {
    const std::size_t from = pos;
    pos += utf8_length(piece[pos]);
    const Token id = character(piece, from, pos);
    if (id >= 0) {
      if (waiting) symbols.push_back({unknown_});
      waiting = false;
      symbols.push_back({id});
    } else if (!(byte_fallback_ && bytes_instead(piece, from, pos, symbols)) &&
               !unknown_text_.empty()) {
      CUPEL_CHECK(unknown_ >= 0, data, "tokenizer: unk_token '", unknown_text_,
                  "' is needed, but not in the vocabulary");
      if (waiting && !fuse_unknown_) symbols.push_back({unknown_});
      waiting = true;
    }
  }
  if (waiting) symbols.push_back({unknown_});
}

// The end of the part that starts at `from`: the first place that no merge can cross.
std::size_t Bpe::part_end(const Symbols& symbols, std::size_t from) const {
  if (symbols.size() < kWorthSplitting) return symbols.size();
  std::size_t end = from + 1;
  while (end < symbols.size() &&
         merger_.joins(last_character(symbols[end - 1].id), first_character(symbols[end].id)))
    ++end;
  return end;
}

void Bpe::tokenize(std::string_view piece, std::vector<Token>& out) const {
  if (ignore_merges_) {
    if (const Token whole = vocabulary_.find(piece); whole >= 0) {
      out.push_back(whole);
      return;
    }
  }
  CUPEL_CHECK(piece.size() < INT32_MAX, user, "tokenizer: a piece of ", piece.size(),
              " bytes is too long");
  thread_local Symbols symbols;
  start(piece, symbols);
  for (std::size_t from = 0, end; from < symbols.size(); from = end) {
    end = part_end(symbols, from);
    const std::span<Symbol> part = std::span(symbols).subspan(from, end - from);
    const auto n = static_cast<int32_t>(part.size());
    for (int32_t i = 0; i < n; ++i) part[static_cast<std::size_t>(i)].previous = i - 1;
    for (int32_t i = 0; i + 1 < n; ++i) part[static_cast<std::size_t>(i)].next = i + 1;
    merger_.run(part);
  }
  for (const Symbol& s : symbols)
    if (s.id >= 0) out.push_back(s.id);
  if (symbols.capacity() > (1u << 20)) Symbols().swap(symbols);
}

}  // namespace

std::unique_ptr<Model> make_bpe(const Part& part, const ModelTables& tables) {
  return std::make_unique<Bpe>(part, tables);
}

}  // namespace cupel::text
