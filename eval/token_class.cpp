// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/token_class.h"

#include <span>

#include "base/hash.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::eval {

namespace {

constexpr char32_t kReplacement = 0xFFFD;  // a decoder's sign for a part of a character

TokenClass class_of(std::string_view text) {
  if (text.empty() || text::utf8_valid_prefix(text) != text.size()) return TokenClass::other;
  std::size_t at = 0;
  char32_t c = text::utf8_next(text, at);
  const bool spaced = text::is_space(c);
  while (text::is_space(c)) {
    if (at == text.size()) return TokenClass::space;
    c = text::utf8_next(text, at);
  }
  if (c == kReplacement) return TokenClass::other;
  switch (text::category(c).major) {
    case 'L':
    case 'M':
      return spaced ? TokenClass::word_start : TokenClass::word_continuation;
    case 'N':
      return TokenClass::digits;
    case 'P':
    case 'S':
      return TokenClass::punctuation;
  }
  return TokenClass::other;
}

bool ends_in_word(std::string_view text) {
  if (text.empty() || text::utf8_valid_prefix(text) != text.size()) return false;
  std::size_t at = text::utf8_before(text, text.size());
  const char major = text::category(text::utf8_next(text, at)).major;
  return major == 'L' || major == 'M' || major == 'N';
}

}  // namespace

std::string_view token_class_name(TokenClass c) {
  switch (c) {
    case TokenClass::word_start:
      return "word start";
    case TokenClass::word_continuation:
      return "word continuation";
    case TokenClass::digits:
      return "digits";
    case TokenClass::punctuation:
      return "punctuation";
    case TokenClass::space:
      return "white space";
    case TokenClass::other:
      return "other";
  }
  return "";
}

std::string token_text(const text::Tokenizer& tokenizer, text::Token id) {
  const text::Token once[] = {id}, twice[] = {id, id};
  return tokenizer.decode(twice, false).substr(tokenizer.decode(once, false).size());
}

std::string vocabulary_sha256(const text::Tokenizer& tokenizer) {
  Sha256 hash;
  for (text::Token id = 0; id < tokenizer.size(); ++id) {
    const std::string text = token_text(tokenizer, id);
    const auto size = static_cast<int64_t>(text.size());
    hash.add(std::as_bytes(std::span(&size, 1))).add(text);
  }
  return hash.hex();
}

const TokenClasses::Facts& TokenClasses::facts(text::Token id) {
  const auto known = known_.find(id);
  if (known != known_.end()) return known->second;
  Facts f;
  if (!tokenizer_.is_special(id)) {
    const std::string text = token_text(tokenizer_, id);
    f = {class_of(text), ends_in_word(text)};
  }
  return known_[id] = f;
}

TokenClass TokenClasses::of(text::Token before, text::Token id) {
  const TokenClass alone = facts(id).alone;
  return alone == TokenClass::word_continuation && !facts(before).ends_in_word
             ? TokenClass::word_start
             : alone;
}

}  // namespace cupel::eval
