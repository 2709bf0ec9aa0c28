// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "eval/server/server_link.h"

namespace cupel::eval {

/// Asks for one token after a short sentence, given as token ids, then as text. Fault::environment
/// with both refusals when the server takes neither; also where it cuts the text into other tokens.
PromptForm find_prompt_form(ServerLink& link);

/// Whether the log-probabilities of an echoed prompt mean what they should: one for every token,
/// of tokens with the texts that --tokenizer gives them, each after the tokens before it.
/// The last is seen from prompts of several lengths: the token written after k tokens must be as
/// probable as the best one that the longer prompt's echo has in that place. llama-cpp-python's
/// echo of models without BOS, for one, is late by one token. Fault::environment says what is
/// wrong.
void prove_echo(ServerLink& link);

}  // namespace cupel::eval
