// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// SentencePiece's byte pair encoding: the neighbours whose concatenation is the piece with the best
// score are joined, leftmost first on ties. User-defined pieces are taken first, the longest at
// each place, and nothing merges with them. A piece that is marked as unused may appear on the way
// but is taken apart again.

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/error.h"
#include "text/bpe_merger.h"
#include "text/sentencepiece.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

using Kind = SentencePieces::Kind;

class SentencePieceBpe : public Model {
 public:
  explicit SentencePieceBpe(SentencePieces pieces);
  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return pieces_.vocabulary; }

 private:
  /// The state of one call.
  struct Work {
    std::vector<Symbol> symbols;  ///< not merged yet
    bool after_unknown = false;
  };
  using Halves = std::pair<Token, Token>;

  bool merges(Token id) const {
    return pieces_.kind(id) == Kind::normal || pieces_.kind(id) == Kind::unused;
  }
  void number_characters();
  void add_merges();
  void split_unused();
  Token half(std::string_view text) const;
  Token character(char32_t c) const;
  void run(Work& work, std::vector<Token>& out) const;
  void emit(Token id, Work& work, std::vector<Token>& out) const;
  void emit_unknown(char32_t c, Work& work, std::vector<Token>& out) const;

  SentencePieces pieces_;
  BpeMerger merger_;
  Trie user_defined_;
  std::array<Token, 0x800> low_{};            // symbols of the characters below U+0800, -1 for none
  PairTable<Token> high_;                     // of the others, by (0, character)
  std::vector<char32_t> unnamed_;             // characters of the symbols behind the ids
  std::unordered_map<Token, Halves> unused_;  // -1 twice for a single character
  std::array<Token, 256> byte_tokens_{};
};

SentencePieceBpe::SentencePieceBpe(SentencePieces pieces) : pieces_(std::move(pieces)) {
  for (unsigned b = 0; b < 256; ++b)
    byte_tokens_[b] = pieces_.vocabulary.find(byte_token(static_cast<unsigned char>(b)));
  Trie::Entries user_defined;
  for (Token id = 0; id < static_cast<Token>(pieces_.kinds.size()); ++id)
    if (pieces_.kind(id) == Kind::user_defined)
      user_defined.emplace_back(pieces_.vocabulary.text(id), id);
  user_defined_ = Trie(std::move(user_defined));
  number_characters();
  add_merges();
  split_unused();
}

// Every character of a piece is a symbol. One that is no piece itself has a number behind the ids.
void SentencePieceBpe::number_characters() {
  low_.fill(-1);
  const auto pieces = static_cast<Token>(pieces_.kinds.size());
  const auto name = [&](char32_t c, Token id) {
    if (c < low_.size())
      low_[c] = id;
    else
      high_.set(0, c, id);
  };
  for (Token id = 0; id < static_cast<Token>(pieces_.kinds.size()); ++id) {
    if (!merges(id)) continue;
    const std::string_view text = pieces_.vocabulary.text(id);
    for (std::size_t pos = 0; pos < text.size();) {
      const std::size_t start = pos;
      const char32_t c = utf8_next(text, pos);
      if (character(c) >= 0) continue;
      const Token own = pieces_.vocabulary.find(text.substr(start, pos - start));
      const bool named = own >= 0 && merges(own);
      name(c, named ? own : pieces + static_cast<Token>(unnamed_.size()));
      if (!named) unnamed_.push_back(c);
    }
  }
}

Token SentencePieceBpe::character(char32_t c) const {
  if (c < low_.size()) return low_[c];
  const Token* id = high_.find(0, c);
  return id ? *id : -1;
}

// The symbol that a part of a piece can be, -1 if there is none.
Token SentencePieceBpe::half(std::string_view text) const {
  const Token id = pieces_.vocabulary.find(text);
  if (id >= 0 && merges(id)) return id;
  std::size_t pos = 0;
  const char32_t c = utf8_next(text, pos);
  return pos == text.size() ? character(c) : -1;
}

void SentencePieceBpe::add_merges() {
  std::vector<Token> order;
  for (Token id = 0; id < static_cast<Token>(pieces_.kinds.size()); ++id)
    if (merges(id)) order.push_back(id);
  const auto score = [&](Token id) { return pieces_.scores[static_cast<std::size_t>(id)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](Token a, Token b) { return score(a) > score(b); });
  merger_.reserve(order.size() * 3);
  uint32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && score(order[i]) != score(order[i - 1])) ++rank;
    const std::string_view text = pieces_.vocabulary.text(order[i]);
    for (std::size_t at = text.empty() ? 0 : utf8_length(text[0]); at < text.size();
         at += utf8_length(text[at])) {
      const Token left = half(text.substr(0, at)), right = half(text.substr(at));
      if (left < 0 || right < 0) continue;
      std::size_t before = utf8_before(text, at), after = at;
      merger_.add(left, right, {rank, order[i]}, utf8_next(text, before), utf8_next(text, after));
    }
  }
}

// The halves that an unused piece is last merged from, where its text stands alone.
void SentencePieceBpe::split_unused() {
  for (Token id = 0; id < static_cast<Token>(pieces_.kinds.size()); ++id) {
    if (pieces_.kind(id) != Kind::unused) continue;
    const std::string_view text = pieces_.vocabulary.text(id);
    unused_[id] = {-1, -1};
    std::vector<Token> symbols;
    for (std::size_t pos = 0; pos < text.size();)
      symbols.push_back(character(utf8_next(text, pos)));
    while (symbols.size() > 1) {
      const Merge* best = nullptr;
      std::size_t place = 0;
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
        if (const Merge* m = merger_.find(symbols[i], symbols[i + 1]);
            m && (!best || m->rank < best->rank)) {
          best = m;
          place = i;
        }
      if (!best) break;
      if (best->result == id) unused_[id] = {symbols[place], symbols[place + 1]};
      symbols[place] = best->result;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
  }
}

void SentencePieceBpe::emit_unknown(char32_t c, Work& work, std::vector<Token>& out) const {
  if (pieces_.byte_fallback) {
    std::string text;
    utf8_append(text, c);
    for (const char b : text) {
      const Token token = byte_tokens_[static_cast<unsigned char>(b)];
      out.push_back(token >= 0 ? token : pieces_.unknown);
    }
    return;
  }
  if (!work.after_unknown) out.push_back(pieces_.unknown);
  work.after_unknown = true;
}

void SentencePieceBpe::emit(Token id, Work& work, std::vector<Token>& out) const {
  if (const auto at = unused_.find(id); !unused_.empty() && at != unused_.end()) {
    const auto [left, right] = at->second;
    std::size_t start = 0;
    if (left < 0) return emit_unknown(utf8_next(pieces_.vocabulary.text(id), start), work, out);
    emit(left, work, out);
    return emit(right, work, out);
  }
  const auto unnamed = static_cast<std::size_t>(id) - pieces_.kinds.size();
  if (static_cast<std::size_t>(id) >= pieces_.kinds.size())
    return emit_unknown(unnamed_[unnamed], work, out);
  work.after_unknown = false;
  out.push_back(id);
}

// Merges the symbols that have been collected and appends what they are.
void SentencePieceBpe::run(Work& work, std::vector<Token>& out) const {
  auto& symbols = work.symbols;
  const auto n = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < n; ++i) {
    symbols[static_cast<std::size_t>(i)].previous = i - 1;
    symbols[static_cast<std::size_t>(i)].next = i + 1 < n ? i + 1 : -1;
  }
  merger_.run(symbols);
  for (const Symbol& s : symbols)
    if (s.id >= 0) emit(s.id, work, out);
  symbols.clear();
}

void SentencePieceBpe::tokenize(std::string_view piece, std::vector<Token>& out) const {
  CUPEL_CHECK(piece.size() < INT32_MAX, user, "tokenizer: a piece of ", piece.size(),
              " bytes is too long");
  Work work;
  char32_t previous = 0;
  for (std::size_t pos = 0; pos < piece.size();) {
    std::size_t longest = pos;
    Token frozen = -1;
    if (user_defined_.starts(piece[pos]))
      user_defined_.each_prefix(piece, pos, [&](std::size_t end, Token id) {
        longest = end;
        frozen = id;
      });
    if (frozen >= 0) {
      run(work, out);
      emit(frozen, work, out);
      pos = longest;
      continue;
    }
    const char32_t c = utf8_next(piece, pos);
    const Token id = character(c);
    if (id < 0) {
      run(work, out);
      emit_unknown(c, work, out);
      continue;
    }
    if (!work.symbols.empty() && !merger_.joins(previous, c)) run(work, out);
    work.symbols.push_back({id});
    previous = c;
  }
  run(work, out);
}

}  // namespace

std::unique_ptr<Model> make_sentencepiece_bpe(const Part& part, const ModelTables& tables) {
  return std::make_unique<SentencePieceBpe>(SentencePieces(part, tables));
}

}  // namespace cupel::text
