// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/function_ref.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/trie.h"

namespace cupel::text {

struct AddedToken {
  std::string content;
  std::string decoded;  ///< what decoding starts from: the content as the normalizer left it
  Token id = -1;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

/// Tokens that are looked for in the text before the model sees it. Immutable once built.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// A token that the model's vocabulary holds has its id there, others are numbered on: what
  /// tokenizers does, whatever ids the file declares. `warn` gets a line for each id that differs.
  AddedTokens(const std::vector<Part>& list, const Vocabulary& model, const Normalizer* normalizer,
              FunctionRef<void(const std::string&)> warn);

  /// Cuts `text` at its tokens, leftmost first, longest at each place. `sink` gets stretches of
  /// text (id -1) and tokens. `normalized` chooses the tokens to look for; without `special_too`,
  /// special ones stay text.
  using Sink = FunctionRef<void(std::string_view text, std::size_t start, Token id)>;
  void split(std::string_view text, bool normalized, bool special_too, Sink sink) const;

  Token find(std::string_view content) const;
  /// Null if the id is not an added token's.
  const AddedToken* get(Token id) const;
  bool is_special(Token id) const {
    const AddedToken* t = get(id);
    return t && t->special;
  }
  /// One more than the largest id, 0 if there are none.
  int64_t size() const { return size_; }

 private:
  struct Span {
    std::size_t start, end;
  };
  bool fits(const AddedToken& token, std::string_view text, Span span) const;

  std::unordered_map<Token, AddedToken> tokens_;
  std::unordered_map<std::string, Token> ids_;
  Trie raw_, normalized_;
  int64_t size_ = 0;
};

}  // namespace cupel::text
