// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/requests.h"

#include "base/error.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::eval {

namespace {

/// Where the white space at the end of a text begins (Python's str.rstrip).
std::size_t space_start(std::string_view s) {
  std::size_t end = s.size();
  while (end > 0) {
    const std::size_t before = text::utf8_before(s, end);
    std::size_t at = before;
    if (!text::is_space(text::utf8_next(s, at))) break;
    end = before;
  }
  return end;
}

}  // namespace

text::Token prefix_token(const text::Tokenizer& tokenizer) {
  if (tokenizer.bos() >= 0) return tokenizer.bos();
  CUPEL_CHECK(!tokenizer.end_tokens().empty(), data,
              "the tokenizer has neither BOS nor EOS to start a text with");
  return tokenizer.end_tokens().front();
}

Tokens encode_prompt(const text::Tokenizer& tokenizer, std::string_view text) {
  const std::string bos = tokenizer.special_text("bos_token");
  return tokenizer.encode(text, {true, bos.empty() || !text.starts_with(bos)});
}

Request encode_request(const text::Tokenizer& tokenizer, std::string_view context,
                       std::string_view continuation) {
  Request out;
  if (context.empty()) {
    out.context = {prefix_token(tokenizer)};
    out.continuation = tokenizer.encode(continuation, {true, false});
    // A continuation that starts with the prefix itself gives it away to the context.
    if (!out.continuation.empty() && out.continuation.front() == out.context.front())
      out.continuation.erase(out.continuation.begin());
  } else {
    const std::size_t end = space_start(context);
    out.context = encode_prompt(tokenizer, context.substr(0, end));
    const Tokens whole =
        encode_prompt(tokenizer, cat(context.substr(0, end), context.substr(end), continuation));
    if (whole.size() > out.context.size())
      out.continuation.assign(whole.begin() + static_cast<std::ptrdiff_t>(out.context.size()),
                              whole.end());
    if (out.context.empty()) out.context = {prefix_token(tokenizer)};
  }
  CUPEL_CHECK(!out.continuation.empty(), data, "nothing is left to score of '", continuation,
              "' after '",
              context.substr(context.size() - std::min<std::size_t>(context.size(), 40)), "'");
  return out;
}

}  // namespace cupel::eval
