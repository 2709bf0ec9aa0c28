// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace cupel::eval {

using Tokens = std::vector<text::Token>;

/// A continuation to score after a context, in tokens.
struct Request {
  Tokens context, continuation;
};

/// lm-eval's way from strings to tokens: white space at the context's end belongs to the
/// continuation; both are encoded as one text and cut behind the context's own tokens (never apart
/// and joined). An empty context becomes BOS, or EOS where there is none. Special tokens are added
/// as the tokenizer does by default, but not to a text that starts with BOS already; text that
/// spells a special token is one. Fault::data when nothing is left to score.
Request encode_request(const text::Tokenizer& tokenizer, std::string_view context,
                       std::string_view continuation);

/// A prompt alone, by the same rules.
Tokens encode_prompt(const text::Tokenizer& tokenizer, std::string_view text);

/// BOS, else EOS: what stands before a text. Fault::data where there is neither.
text::Token prefix_token(const text::Tokenizer& tokenizer);

}  // namespace cupel::eval
