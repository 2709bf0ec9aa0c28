// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>

#include "eval/harness/likelihood.h"
#include "eval/server/server_link.h"
#include "eval/targets.h"
#include "text/generator.h"

namespace cupel::eval {

/// A model behind POST /completions of OpenAI's interface, as vLLM and llama-cpp-python serve it.
/// Log-probabilities come from echoed prompts ("echo", "logprobs": 1, "max_tokens": 1), as
/// lm-eval's local-completions asks for them; a token is greedy when none of its place's
/// top_logprobs is larger. Prompts are token ids where the server takes them; else text, and then
/// the echoed tokens must be those of the tokenizer, one by one. Requests are sent the longest
/// first, several at a time. What an answer lacks is a Fault::environment that names it. Not
/// thread-safe.
class CompletionServer final : public LikelihoodModel, public TargetModel, public text::Generator {
 public:
  /// Asks for the list of models, and for one token. Fault::user for a wrong address or name.
  CompletionServer(const ServerOptions& options, std::shared_ptr<const text::Tokenizer> tokenizer);

  /// Tokens that a pass reads. One less than the server's positions is a prompt, whose last token
  /// is only predicted: a token is always written behind it.
  int64_t max_length() const override;
  /// The address with the model's name.
  std::string description() const override { return link_.name(); }
  /// How it is asked, for people: "completions, prompts as token ids".
  std::string engine() const;

  void score(std::span<const Request> requests, const LikelihoodSink& sink) override;
  void score_blocks(std::span<const Block> blocks, const TargetSink& sink) override;

  /// Greedy or sampled by the server; `tokens` of the result stay empty, the server tells the text
  /// alone. `on_text` gets it in one piece.
  text::Generation generate(std::span<const text::Token> prompt,
                            const text::GenerateOptions& options,
                            const std::function<bool(std::string_view)>& on_text) override;
  /// One request each, several at a time, in order.
  void generate_many(std::span<const Order> orders,
                     const std::function<void(std::size_t, text::Generation)>& sink) override;

 private:
  text::Generation write(std::size_t worker, const Order& order);
  using EchoSink = std::function<void(std::size_t prompt, const PromptScores& scores)>;
  void echo_all(const std::vector<Tokens>& prompts, const EchoSink& sink);

  ServerOptions options_;
  ServerLink link_;
  bool proven_ = false;
};

}  // namespace cupel::eval
