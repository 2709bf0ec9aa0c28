// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/generator.h"

namespace cupel::eval {

/// A prompt in one of the two forms that servers take.
struct ServerPrompt {
  std::vector<text::Token> ids;
  std::string text;  ///< sent instead of the ids where `as_text`
  bool as_text = false;
};

/// The body of a POST to /completions. Prompts are all of one form.
struct CompletionRequest {
  std::string model;
  std::vector<ServerPrompt> prompts;
  /// Ask for the log-probabilities of the prompt's own tokens, too, each with the best one's.
  bool echo = false;
  text::GenerateOptions generate;  ///< max_tokens must be positive
};
/// Fault::user for text that is not UTF-8.
std::string to_json(const CompletionRequest& request);

/// A token that an answer lists. NaN stands for null: of a first token nothing is known.
struct ListedToken {
  std::string text;
  double log_prob = 0;
  double best = 0;  ///< largest of the position's top_logprobs
};

struct Completion {
  std::string text;
  std::string finish_reason;        ///< "" where it is null or missing
  std::vector<ListedToken> tokens;  ///< with `echo`
};

struct CompletionAnswer {
  std::vector<Completion> choices;  ///< one a prompt, in their order
  /// As the server counts them, over all prompts; -1 where it does not say.
  int64_t prompt_tokens = -1, completion_tokens = -1;
};

/// Reads the answer to a request. Fault::environment names what is missing or wrong: broken JSON,
/// another number of choices, no log-probabilities, lists of different lengths.
CompletionAnswer parse_answer(const std::string& body, const CompletionRequest& request);

}  // namespace cupel::eval
