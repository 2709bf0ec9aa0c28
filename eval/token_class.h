// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/tokenizer.h"

namespace cupel::eval {

/// What a token is, by its text: the first character behind white space decides.
enum class TokenClass : uint8_t {
  word_start,         ///< a letter, behind white space or where the token before ends no word
  word_continuation,  ///< a letter directly behind a letter, mark or digit
  digits,
  punctuation,  ///< symbols too
  space,        ///< white space alone, line breaks too
  other,        ///< special tokens, parts of a character, control characters
};
inline constexpr TokenClass kTokenClasses[] = {
    TokenClass::word_start, TokenClass::word_continuation,
    TokenClass::digits,     TokenClass::punctuation,
    TokenClass::space,      TokenClass::other};
std::string_view token_class_name(TokenClass c);

/// Text of a token in the middle of a text: with the space that some tokenizers drop at the start.
std::string token_text(const text::Tokenizer& tokenizer, text::Token id);

/// SHA-256 over the text of every token of the vocabulary: equal for one tokenizer in files of any
/// kind. Tokens of two models mean the same only when it is equal.
std::string vocabulary_sha256(const text::Tokenizer& tokenizer);

/// Classes of tokens, each looked at once. `tokenizer` must outlive it.
class TokenClasses {
 public:
  explicit TokenClasses(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  /// Class of `id` behind the token `before`.
  TokenClass of(text::Token before, text::Token id);

 private:
  struct Facts {
    TokenClass alone = TokenClass::other;
    bool ends_in_word = false;
  };
  const Facts& facts(text::Token id);
  const text::Tokenizer& tokenizer_;
  std::unordered_map<text::Token, Facts> known_;
};

}  // namespace cupel::eval
