// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Unigram: the segmentation with the largest sum of scores (Viterbi over all tokens that match at
// each place). A character that no token covers costs ten more than the worst token; neighbours of
// that kind become one unknown token. On ties the path found first stays.

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "text/model.h"
#include "text/trie.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

constexpr double kUnknownPenalty = 10;

class Unigram : public Model {
 public:
  Unigram(const Part& part, const ModelTables& tables);
  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  struct Node {
    double score = 0;
    std::size_t start = 0;
    Token id = -1;
    bool reached = false;
  };
  void reach(Node& node, std::size_t start, Token id, double score) const {
    if (node.reached && !(score > node.score)) return;
    node = {score, start, id, true};
  }
  std::vector<Node> best_paths(std::string_view piece) const;
  void emit(std::string_view text, std::vector<Token>& out) const;

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  Trie trie_;
  double unknown_score_ = 0;
  Token unknown_ = -1;
  bool byte_fallback_ = false;
};

std::vector<std::pair<std::string, int64_t>> numbered(const ModelTables& tables) {
  std::vector<std::pair<std::string, int64_t>> out;
  for (const auto& entry : tables.scores)
    out.emplace_back(entry.first, static_cast<int64_t>(out.size()));
  return out;
}

Unigram::Unigram(const Part& part, const ModelTables& tables) : vocabulary_(numbered(tables)) {
  part.known({"unk_id", "vocab", "byte_fallback"});
  byte_fallback_ = part.flag("byte_fallback", false);
  if (part.has("unk_id")) {
    const int64_t id = part.integer("unk_id");
    if (id < 0 || id >= vocabulary_.size())
      part.refuse(cat("unk_id ", id, " is not in the vocabulary"));
    unknown_ = static_cast<Token>(id);
  }
  double worst = std::numeric_limits<double>::infinity();
  for (const auto& [text, score] : tables.scores) {
    if (!text.empty()) trie_.add(text, vocabulary_.find(text));
    scores_.push_back(score);
    worst = std::min(worst, score);
  }
  unknown_score_ = worst - kUnknownPenalty;
}

std::vector<Unigram::Node> Unigram::best_paths(std::string_view piece) const {
  std::vector<Node> ends(piece.size() + 1);
  for (std::size_t start = 0; start < piece.size(); start += utf8_length(piece[start])) {
    const double so_far = ends[start].score;
    const std::size_t character = utf8_length(piece[start]);
    bool covered = false;
    trie_.each_prefix(piece, start, [&](std::size_t end, Token id) {
      reach(ends[end], start, id, so_far + scores_[static_cast<std::size_t>(id)]);
      covered = covered || end - start == character;
    });
    if (covered) continue;
    CUPEL_CHECK(
        unknown_ >= 0, data,
        "tokenizer: the text has a character that the vocabulary lacks, and there is no unk_id");
    reach(ends[start + character], start, unknown_, so_far + unknown_score_);
  }
  return ends;
}

void Unigram::emit(std::string_view text, std::vector<Token>& out) const {
  const Token known = vocabulary_.find(text);
  if (known >= 0) {
    out.push_back(known);
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

void Unigram::tokenize(std::string_view piece, std::vector<Token>& out) const {
  const std::vector<Node> ends = best_paths(piece);
  struct Stretch {
    std::size_t start, end;
    bool unknown;
  };
  std::vector<Stretch> backwards;
  for (std::size_t end = piece.size(); end > 0; end = ends[end].start) {
    const bool unknown = ends[end].id == unknown_;
    if (unknown && !backwards.empty() && backwards.back().unknown)
      backwards.back().start = ends[end].start;
    else
      backwards.push_back({ends[end].start, end, unknown});
  }
  for (auto at = backwards.rbegin(); at != backwards.rend(); ++at)
    emit(piece.substr(at->start, at->end - at->start), out);
}

}  // namespace

std::unique_ptr<Model> make_unigram(const Part& part, const ModelTables& tables) {
  return std::make_unique<Unigram>(part, tables);
}

}  // namespace cupel::text
