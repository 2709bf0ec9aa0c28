// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::eval {

/// Words as lm-eval counts them, len(re.split(r"\s+", text)): pieces between runs of white space,
/// empty ones at the ends included. Bytes that are not UTF-8 are no white space.
int64_t count_space_separated(std::string_view text);

/// A page of WikiText (valid UTF-8) as plain text, by the fixed list of replacements of lm-eval
/// 0.4.13's task `wikitext`, in its order.
std::string wikitext_detokenized(std::string_view page);

}  // namespace cupel::eval
