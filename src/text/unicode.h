// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>

namespace cupel::text {

// Character properties of Unicode 16, whatever version the libraries below have: token ids depend
// on them.

/// The general category as its two letters, for example {'L', 'u'}.
struct Category {
  char major = 'C', minor = 'n';
};
Category category(char32_t c);

inline bool is_letter(char32_t c) {
  return category(c).major == 'L';
}
inline bool is_number(char32_t c) {
  return category(c).major == 'N';
}
/// White_Space: not U+001C..001F, U+180E, U+200B or U+FEFF.
bool is_space(char32_t c);
/// As tokenizers' Punctuation has it: by the tables of Unicode 8.
bool is_punctuation(char32_t c);
/// \w as the `regex` crate has it: letters, marks, decimal digits, letter numbers, connectors,
/// joiners.
bool is_word(char32_t c);
/// As tokenizers' StripAccents has it: by the tables of Unicode 9.
bool is_combining_mark(char32_t c);

/// Full lower case of one character (U+0130 gives two).
void append_lower(std::string& out, char32_t c);
char32_t upper(char32_t c);
char32_t lower(char32_t c);

enum class Form { nfc, nfd, nfkc, nfkd };
/// Linear in the length of valid UTF-8 `text`, also when it is one long run of combining marks.
std::string normalize(std::string_view text, Form form);
/// True if normalize() would surely return the same text; cheap.
bool is_surely_normal(std::string_view text, Form form);

/// The text with each character that the regex engine's property tables do not know (or class
/// otherwise than tokenizers do) replaced by an older one of the same category and UTF-8 length.
/// Returns `text` itself when there is nothing to replace, else a view of `buffer`.
std::string_view with_known_characters(std::string_view text, std::string& buffer);

}  // namespace cupel::text
