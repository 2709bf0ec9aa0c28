// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cupel::text::jinja {

enum class TokenKind {
  data,
  block_begin,
  block_end,
  variable_begin,
  variable_end,
  name,
  string,
  integer,
  floating,
  op,
  end
};

struct LexToken {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< of strings, their value
  int line = 1;
};

/// Cuts a template into tokens, white-space control (trim_blocks, lstrip_blocks, "-" and "+") done.
/// Fault::data with the line for text that is not a template.
std::vector<LexToken> lex(std::string_view source);

/// Fault::data "template: line N: ...".
template <class... Parts>
[[noreturn]] void syntax_error(int line, const Parts&... parts) {
  fail(Fault::data, "template: line ", line, ": ", parts...);
}

}  // namespace cupel::text::jinja
