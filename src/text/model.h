// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/part.h"
#include "text/tokenizer.h"

namespace cupel::text {

/// Texts and ids of a vocabulary, both ways. Immutable once built.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Fault::data for a negative id or one beyond any real vocabulary. A repeated text keeps its
  /// last id.
  explicit Vocabulary(const std::vector<std::pair<std::string, int64_t>>& entries);
  /// -1 when there is none.
  Token find(std::string_view text) const;
  /// "" with `known` false for a hole.
  std::string_view text(Token id) const;
  bool has(Token id) const;
  /// Number of entries (holes are not counted).
  int64_t entries() const { return static_cast<int64_t>(entries_); }
  /// One more than the largest id.
  int64_t size() const { return static_cast<int64_t>(spans_.size()); }

 private:
  struct Span {
    uint32_t start = 0, length = 0;
    bool known = false;
  };
  std::size_t slot(std::string_view text) const;
  std::string texts_;
  std::vector<Span> spans_;   // by id
  std::vector<Token> slots_;  // open addressing by text, -1 is free
  std::size_t entries_ = 0;
};

/// What turns a piece of text into tokens. Immutable, thread-safe.
class Model {
 public:
  virtual ~Model() = default;
  /// Appends the tokens of one piece (valid UTF-8, not empty).
  virtual void tokenize(std::string_view piece, std::vector<Token>& out) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
};

/// The parts of a model's JSON that are large, as they stand in the file.
struct ModelTables {
  std::vector<std::pair<std::string, int64_t>> vocabulary;  ///< of a map from text to id
  std::vector<std::pair<std::string, double>> scores;       ///< of a list of [text, score]
  std::vector<std::pair<std::string, std::string>> merges;  ///< of a list of [left, right]
  std::vector<std::string> joined_merges;                   ///< of a list of "left right"
};

std::unique_ptr<Model> make_bpe(const Part& part, const ModelTables& tables);
std::unique_ptr<Model> make_unigram(const Part& part, const ModelTables& tables);

/// "<0x41>".
std::string byte_token(unsigned char byte);

}  // namespace cupel::text
