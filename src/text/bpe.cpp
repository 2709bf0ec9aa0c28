// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Byte pair encoding: the neighbours whose merge stands first in the list are joined, leftmost first, until no merge
// applies. A heap of candidates with stale-entry checks makes that O(n log n) for a piece of n characters.

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "base/error.h"
#include "text/model.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

struct Merge {
  uint32_t rank = 0;
  Token result = -1;
};

/// Pairs of ids to their merge, open addressing.
class MergeTable {
 public:
  void reserve(std::size_t n) { slots_.assign(std::bit_ceil(n * 2 + 1), {}); }
  void set(Token left, Token right, Merge merge) {
    Slot& s = slots_[find_slot(key(left, right))];
    s.key = key(left, right);
    s.merge = merge;
  }
  /// Null if the pair does not merge.
  const Merge* find(Token left, Token right) const {
    const Slot& s = slots_[find_slot(key(left, right))];
    return s.key == kFree ? nullptr : &s.merge;
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };
  static uint64_t key(Token left, Token right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  std::size_t find_slot(uint64_t k) const {
    const std::size_t mask = slots_.size() - 1;
    uint64_t h = k * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
    std::size_t at = h & mask;
    while (slots_[at].key != kFree && slots_[at].key != k) at = (at + 1) & mask;
    return at;
  }
  std::vector<Slot> slots_;
};

/// The symbols of a piece as a linked list in one array; a removed one has id -1.
struct Symbol {
  Token id;
  int32_t previous, next;  // -1 at the ends
};

struct Candidate {
  uint32_t rank;
  int32_t position;
  Token result;
  /// For std::push_heap, which keeps the largest in front.
  bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : position > o.position; }
};

/// Work space of one thread, so that short pieces allocate nothing.
struct Workspace {
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

class Bpe : public Model {
 public:
  Bpe(const Part& part, const ModelTables& tables);
  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  void read_merges(const Part& part, const ModelTables& tables);
  void add_merge(const Part& part, const std::string& left, const std::string& right, uint32_t rank);
  Token character(std::string_view piece, std::size_t start, std::size_t end) const;
  bool bytes_instead(std::string_view piece, std::size_t start, std::size_t end, std::vector<Symbol>& symbols) const;
  void start(std::string_view piece, std::vector<Symbol>& symbols) const;
  void merge(Workspace& work) const;
  void consider(Workspace& work, int32_t left, int32_t right) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::array<Token, 0x180> low_{};       // ids of the characters below U+0180: all of the byte alphabet
  std::array<Token, 256> byte_tokens_{};  // ids of <0x00>.., -1 when missing
  std::string prefix_, suffix_;           // of characters that are not first, that are last
  std::string unknown_text_;
  Token unknown_ = -1;
  bool fuse_unknown_ = false, byte_fallback_ = false, ignore_merges_ = false;
};

Bpe::Bpe(const Part& part, const ModelTables& tables) : vocabulary_(tables.vocabulary) {
  part.known({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
              "ignore_merges", "vocab", "merges"});
  if (part.has("continuing_subword_prefix")) prefix_ = part.text("continuing_subword_prefix");
  if (part.has("end_of_word_suffix")) suffix_ = part.text("end_of_word_suffix");
  fuse_unknown_ = part.flag("fuse_unk", false);
  byte_fallback_ = part.flag("byte_fallback", false);
  ignore_merges_ = part.flag("ignore_merges", false);
  if (part.has("unk_token")) {
    unknown_text_ = part.text("unk_token");
    unknown_ = vocabulary_.find(unknown_text_);
  }
  for (unsigned b = 0; b < 256; ++b) byte_tokens_[b] = vocabulary_.find(byte_token(static_cast<unsigned char>(b)));
  for (char32_t c = 0; c < low_.size(); ++c) {
    std::string text;
    utf8_append(text, c);
    low_[c] = vocabulary_.find(text);
  }
  read_merges(part, tables);
}

void Bpe::read_merges(const Part& part, const ModelTables& tables) {
  merges_.reserve(tables.merges.size() + tables.joined_merges.size());
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

void Bpe::add_merge(const Part& part, const std::string& left, const std::string& right, uint32_t rank) {
  const auto id_of = [&](const std::string& text) {
    const Token id = vocabulary_.find(text);
    if (id < 0) part.refuse(cat("merge ", rank, " ('", left, "' + '", right, "'): '", text, "' is not in the vocabulary"));
    return id;
  };
  const Token left_id = id_of(left), right_id = id_of(right);
  if (right.size() < prefix_.size()) part.refuse(cat("merge ", rank, ": '", right, "' lacks the prefix"));
  merges_.set(left_id, right_id, {rank, id_of(left + right.substr(prefix_.size()))});
}

Token Bpe::character(std::string_view piece, std::size_t start, std::size_t end) const {
  const bool decorated = (!prefix_.empty() && start > 0) || (!suffix_.empty() && end == piece.size());
  const std::string_view text = piece.substr(start, end - start);
  if (!decorated) {
    std::size_t pos = 0;
    const char32_t c = text.size() <= 2 ? utf8_next(text, pos) : U'\uFFFF';
    return c < low_.size() ? low_[c] : vocabulary_.find(text);
  }
  return vocabulary_.find(cat(start > 0 ? prefix_ : "", text, end == piece.size() ? suffix_ : ""));
}

bool Bpe::bytes_instead(std::string_view piece, std::size_t start, std::size_t end, std::vector<Symbol>& symbols) const {
  std::string text(piece.substr(start, end - start));
  if (start > 0) text.insert(0, prefix_);
  if (end == piece.size()) text += suffix_;
  const auto token = [&](char b) { return byte_tokens_[static_cast<unsigned char>(b)]; };
  if (!std::all_of(text.begin(), text.end(), [&](char b) { return token(b) >= 0; })) return false;
  for (const char b : text) symbols.push_back({token(b), 0, 0});
  return true;
}

// One symbol per character. An unknown one waits until a known one comes, so that neighbours can be fused; bytes do not
// end the wait (that is how tokenizers orders them).
void Bpe::start(std::string_view piece, std::vector<Symbol>& symbols) const {
  symbols.clear();
  bool waiting = false;
  const auto add_unknown = [&] { symbols.push_back({unknown_, 0, 0}); };
  for (std::size_t pos = 0; pos < piece.size();) {
    const std::size_t start = pos;
    pos += utf8_length(piece[pos]);
    const Token id = character(piece, start, pos);
    if (id >= 0) {
      if (waiting) add_unknown();
      waiting = false;
      symbols.push_back({id, 0, 0});
    } else if (!(byte_fallback_ && bytes_instead(piece, start, pos, symbols)) && !unknown_text_.empty()) {
      CUPEL_CHECK(unknown_ >= 0, data, "tokenizer: unk_token '", unknown_text_, "' is needed, but not in the vocabulary");
      if (waiting && !fuse_unknown_) add_unknown();
      waiting = true;
    }
  }
  if (waiting) add_unknown();
  const auto n = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < n; ++i) {
    symbols[static_cast<std::size_t>(i)].previous = i - 1;
    symbols[static_cast<std::size_t>(i)].next = i + 1 < n ? i + 1 : -1;
  }
}

void Bpe::consider(Workspace& work, int32_t left, int32_t right) const {
  const Merge* m = merges_.find(work.symbols[static_cast<std::size_t>(left)].id,
                                work.symbols[static_cast<std::size_t>(right)].id);
  if (m) work.heap.push_back({m->rank, left, m->result});
}

void Bpe::merge(Workspace& work) const {
  auto& [symbols, heap] = work;
  heap.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) consider(work, static_cast<int32_t>(i), static_cast<int32_t>(i + 1));
  std::make_heap(heap.begin(), heap.end());
  const auto consider_and_sift = [&](int32_t left, int32_t right) {
    const std::size_t before = heap.size();
    consider(work, left, right);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = symbols[static_cast<std::size_t>(best.position)];
    if (left.id < 0 || left.next < 0) continue;
    Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    const Merge* now = merges_.find(left.id, right.id);
    if (!now || now->result != best.result) continue;
    left.id = best.result;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.position;
    if (left.previous >= 0) consider_and_sift(left.previous, best.position);
    if (left.next >= 0) consider_and_sift(best.position, left.next);
  }
}

void Bpe::tokenize(std::string_view piece, std::vector<Token>& out) const {
  if (ignore_merges_) {
    if (const Token whole = vocabulary_.find(piece); whole >= 0) {
      out.push_back(whole);
      return;
    }
  }
  CUPEL_CHECK(piece.size() < INT32_MAX, user, "tokenizer: a piece of ", piece.size(), " bytes is too long");
  thread_local Workspace work;
  start(piece, work.symbols);
  merge(work);
  for (const Symbol& s : work.symbols)
    if (s.id >= 0) out.push_back(s.id);
  if (work.symbols.size() > (1u << 16)) work = {};
}

}  // namespace

std::unique_ptr<Model> make_bpe(const Part& part, const ModelTables& tables) {
  return std::make_unique<Bpe>(part, tables);
}

}  // namespace cupel::text
