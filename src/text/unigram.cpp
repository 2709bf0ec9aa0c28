// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Unigram: the segmentation with the largest sum of scores (Viterbi over all tokens that match at
// each place). A character that no token covers costs ten more than the worst token; neighbours of
// that kind become one unknown token. On ties the path found first stays.
//
// What SentencePiece gives (version 0.2.3; earlier ones differ in user-defined pieces and in long
// texts) depends on rounding: sums are in single precision and start again from zero where they
// have become large.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "base/error.h"
#include "text/model.h"
#include "text/sentencepiece.h"
#include "text/trie.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

constexpr int kUnknownPenalty = 10;
constexpr float kLargestSum = 100000;

/// A sum of scores is kept as a `Score`: single precision for SentencePiece, double for
/// tokenizer.json.
template <class Score>
class Unigram : public Model {
 public:
  Unigram(const Part& part, const ModelTables& tables);
  explicit Unigram(SentencePieces pieces);
  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  struct Node {
    Score score = 0;
    uint32_t start = 0;  // of the last token
    Token id = -1;       // -1 until the place has been reached
  };
  void reach(Node& node, std::size_t start, Token id, Score score) const {
    if (node.id >= 0 && !(score > node.score)) return;
    node = {score, static_cast<uint32_t>(start), id};
  }
  static constexpr bool kSentencePiece = std::is_same_v<Score, float>;
  static void start_again(std::span<Node> ends);
  std::vector<Node> best_paths(std::string_view piece) const;
  void emit(std::string_view text, Token id, std::vector<Token>& out) const;

  Vocabulary vocabulary_;
  std::vector<Score> scores_;
  Trie trie_;
  Score unknown_score_ = 0;
  Token unknown_ = -1;
  bool byte_fallback_ = false;
  bool finds_unknown_ = true;  // a run of unknown characters may spell a token after all
};

std::vector<std::pair<std::string, int64_t>> numbered(const ModelTables& tables) {
  std::vector<std::pair<std::string, int64_t>> out;
  for (const auto& entry : tables.scores)
    out.emplace_back(entry.first, static_cast<int64_t>(out.size()));
  return out;
}

template <class Score>
Unigram<Score>::Unigram(const Part& part, const ModelTables& tables)
    : vocabulary_(numbered(tables)) {
  part.known({"unk_id", "vocab", "byte_fallback"});
  byte_fallback_ = part.flag("byte_fallback", false);
  if (part.has("unk_id")) {
    const int64_t id = part.integer("unk_id");
    if (id < 0 || id >= vocabulary_.size())
      part.refuse(cat("unk_id ", id, " is not in the vocabulary"));
    unknown_ = static_cast<Token>(id);
  }
  Trie::Entries entries;
  Score worst = std::numeric_limits<Score>::infinity();
  for (const auto& [text, score] : tables.scores) {
    entries.emplace_back(text, vocabulary_.find(text));
    scores_.push_back(score);
    worst = std::min(worst, score);
  }
  trie_ = Trie(std::move(entries));
  unknown_score_ = worst - kUnknownPenalty;
}

// SentencePiece: a user-defined piece scores better than any way to cut its text; unused and
// reserved pieces are not found.
template <class Score>
Unigram<Score>::Unigram(SentencePieces pieces)
    : vocabulary_(std::move(pieces.vocabulary)),
      unknown_(pieces.unknown),
      byte_fallback_(pieces.byte_fallback),
      finds_unknown_(false) {
  using Kind = SentencePieces::Kind;
  Trie::Entries entries;
  Score worst = std::numeric_limits<Score>::max();
  for (Token id = 0; id < static_cast<Token>(pieces.kinds.size()); ++id) {
    const std::string_view text = vocabulary_.text(id);
    const Kind kind = pieces.kind(id);
    scores_.push_back(pieces.scores[static_cast<std::size_t>(id)]);
    if (kind == Kind::normal) worst = std::min(worst, scores_.back());
    if (kind == Kind::user_defined)
      scores_.back() = static_cast<Score>(0.1 * static_cast<double>(text.size() - 1));
    if (kind == Kind::normal || kind == Kind::user_defined) entries.emplace_back(text, id);
  }
  trie_ = Trie(std::move(entries));
  unknown_score_ = worst - kUnknownPenalty;
}

/// Takes the first node's score off all that have been reached.
template <class Score>
void Unigram<Score>::start_again(std::span<Node> ends) {
  const Score so_far = ends.front().score;
  for (Node& end : ends)
    if (end.id >= 0) end.score -= so_far;
}

template <class Score>
auto Unigram<Score>::best_paths(std::string_view piece) const -> std::vector<Node> {
  std::vector<Node> ends(piece.size() + 1);
  std::size_t farthest = 0;
  for (std::size_t start = 0; start < piece.size(); start += utf8_length(piece[start])) {
    if (kSentencePiece && std::abs(ends[start].score) > kLargestSum)
      start_again(std::span(ends).subspan(start, farthest + 1 - start));
    const Score so_far = ends[start].score;
    const std::size_t character = utf8_length(piece[start]);
    bool covered = false;
    trie_.each_prefix(piece, start, [&](std::size_t end, Token id) {
      reach(ends[end], start, id, so_far + scores_[static_cast<std::size_t>(id)]);
      covered = covered || end - start == character;
      farthest = std::max(farthest, end);
    });
    if (covered) continue;
    CUPEL_CHECK(
        unknown_ >= 0, data,
        "tokenizer: the text has a character that the vocabulary lacks, and there is no unk_id");
    reach(ends[start + character], start, unknown_, so_far + unknown_score_);
    farthest = std::max(farthest, start + character);
  }
  return ends;
}

template <class Score>
void Unigram<Score>::emit(std::string_view text, Token id, std::vector<Token>& out) const {
  if (id == unknown_ && finds_unknown_) {
    if (const Token found = vocabulary_.find(text); found >= 0) id = found;
  }
  if (id != unknown_) {
    out.push_back(id);
    return;
  }
  std::vector<Token> bytes;
  for (const char b : text)
    bytes.push_back(vocabulary_.find(byte_token(static_cast<unsigned char>(b))));
  if (byte_fallback_ && std::find(bytes.begin(), bytes.end(), -1) == bytes.end())
    out.insert(out.end(), bytes.begin(), bytes.end());
  else
    out.push_back(unknown_);
}

template <class Score>
void Unigram<Score>::tokenize(std::string_view piece, std::vector<Token>& out) const {
  CUPEL_CHECK(piece.size() < UINT32_MAX, user, "tokenizer: a piece of ", piece.size(),
              " bytes is too long");
  const std::vector<Node> ends = best_paths(piece);
  struct Stretch {
    std::size_t start, end;
    Token id;
  };
  std::vector<Stretch> backwards;
  for (std::size_t end = piece.size(); end > 0; end = ends[end].start) {
    const Token id = ends[end].id;
    if (id == unknown_ && !backwards.empty() && backwards.back().id == unknown_)
      backwards.back().start = ends[end].start;
    else
      backwards.push_back({ends[end].start, end, id});
  }
  for (auto at = backwards.rbegin(); at != backwards.rend(); ++at)
    emit(piece.substr(at->start, at->end - at->start), at->id, out);
}

}  // namespace

std::unique_ptr<Model> make_unigram(const Part& part, const ModelTables& tables) {
  return std::make_unique<Unigram<double>>(part, tables);
}

std::unique_ptr<Model> make_sentencepiece_unigram(const Part& part, const ModelTables& tables) {
  return std::make_unique<Unigram<float>>(SentencePieces(part, tables));
}

}  // namespace cupel::text
