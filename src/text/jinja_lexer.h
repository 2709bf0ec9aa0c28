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

/// chat: Hugging Face's environment (trim_blocks, lstrip_blocks, the last newline dropped, what is
/// undefined prints as nothing). plain: white space stays as it is, the last newline too, and to
/// print something undefined is an error (StrictUndefined), as lm-eval renders its tasks.
enum class Dialect { chat, plain };

/// Cuts a template into tokens, white-space control done. Fault::data with the line for text that
/// is not a template.
std::vector<LexToken> lex(std::string_view source, Dialect dialect = Dialect::chat);

/// Fault::data "template: line N: ...".
template <class... Parts>
[[noreturn]] void syntax_error(int line, const Parts&... parts) {
  fail(Fault::data, "template: line ", line, ": ", parts...);
}

}  // namespace cupel::text::jinja
