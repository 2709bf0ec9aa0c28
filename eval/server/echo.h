// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <span>
#include <vector>

#include "eval/server/completion_json.h"
#include "text/tokenizer.h"

namespace cupel::eval {

/// What a server says of each token of a prompt, after those before it. NaN where it says nothing,
/// as of the first token.
struct PromptScores {
  std::vector<double> log_prob;  ///< nats
  std::vector<double> best;      ///< of the most probable token at that place
  int64_t written = 0;           ///< tokens listed behind the prompt's
  double written_log_prob = 0;   ///< of the first of those; NaN when there is none
};

enum class EchoCheck {
  count,  ///< as many tokens as were sent
  texts,  ///< and each has the text that the tokenizer gives it
};

/// Finds a prompt's tokens in the list that an answer echoed. Servers may leave out a BOS at the
/// front, or list no token behind the prompt where the model ended the text at once.
/// Fault::environment when the list does not fit, with the first token that differs: the server's
/// tokens would be other ones than those that were asked for.
PromptScores read_echo(std::span<const text::Token> ids, const std::vector<ListedToken>& listed,
                       const text::Tokenizer& tokenizer, EchoCheck check);

}  // namespace cupel::eval
