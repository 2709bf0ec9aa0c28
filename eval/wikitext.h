// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::eval {

/// Bytes of the white space at the front of UTF-8 `text` (not empty), 0 when there is none: what \s
/// matches and strip() removes in Python.
std::size_t space_length(std::string_view text);

/// Words as lm-eval counts them, len(re.split(r"\s+", text)): pieces between runs of white space,
/// empty ones at the ends included.
int64_t count_space_separated(std::string_view text);

/// A page of WikiText as plain text, by the fixed list of replacements of lm-eval 0.4.13's task
/// `wikitext`, in its order.
std::string wikitext_detokenized(std::string page);

}  // namespace cupel::eval
