// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cupel::eval {

// Methods of Python's str on valid UTF-8: scores are compared with those of Python harnesses, which
// strip and fold with them.

/// str.isspace of one character: White_Space and U+001C..001F.
bool python_space(char32_t c);

std::string_view strip(std::string_view s);
/// str.strip(chars) for ASCII `chars`.
std::string_view strip_any(std::string_view s, std::string_view chars);
/// str.lower, with the final sigma.
std::string lower_text(std::string_view s);
/// str.split().
std::vector<std::string_view> split_spaces(std::string_view s);
/// str.split(separator) for a separator that is not empty.
std::vector<std::string_view> split_at(std::string_view s, std::string_view separator);
/// str.replace(from, to) for a `from` that is not empty.
std::string replace_all(std::string_view s, std::string_view from, std::string_view to);

/// Derived properties Uppercase and Lowercase of one character.
bool python_upper(char32_t c);
bool python_lower(char32_t c);
/// str.isupper and str.islower.
bool is_upper_text(std::string_view s);
bool is_lower_text(std::string_view s);

}  // namespace cupel::eval
