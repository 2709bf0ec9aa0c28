// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eval/server/completion_json.h"
#include "eval/server/echo.h"
#include "eval/server/served_models.h"
#include "text/tokenizer.h"

namespace cupel::eval {

struct ServerOptions {
  std::string address;      ///< http://host:port/v1#name; the name of an only model may be left out
  std::string api_key;      ///< sent as a bearer token; "" sends none
  int64_t positions = 0;    ///< of prompt and answer together; 0: what the server says
  int64_t connections = 4;  ///< requests at a time
  int64_t batch = 1;        ///< prompts in one request
  double answer_seconds = 600;
};

/// How a server wants its prompts, found out by asking.
struct PromptForm {
  bool as_text = false;
  bool adds_bos = false;  ///< to a text, by itself
};

/// A model on a server, and the connections to it. Different workers may ask at the same time.
class ServerLink {
 public:
  /// Fault::user when the name fits no model, or nobody knows how many positions it has.
  ServerLink(const ServerOptions& options, std::shared_ptr<const text::Tokenizer> tokenizer);

  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  const ServedModel& model() const { return model_; }
  /// The address with the model's name.
  std::string name() const { return url_.text() + "#" + model_.name; }
  std::size_t connections() const { return clients_.size(); }

  void set_form(const PromptForm& form) { form_ = form; }
  const PromptForm& form() const { return form_; }
  /// Fault::environment for a prompt that a server which adds BOS would change.
  ServerPrompt prompt_of(std::span<const text::Token> ids) const;

  /// The raw answer, whatever its status.
  net::HttpResponse post(std::size_t worker, CompletionRequest& request);
  /// What it says. Fault::environment when it is a refusal, or not as it should be.
  CompletionAnswer read(const net::HttpResponse& response, const CompletionRequest& request) const;
  /// Both, with the address in the trail of what goes wrong.
  CompletionAnswer ask(std::size_t worker, CompletionRequest request);
  /// What the server says of each token of every prompt, and how it counts the request's tokens.
  struct Echoes {
    std::vector<PromptScores> prompts;
    int64_t completion_tokens = -1;  ///< -1 where it does not say
  };
  Echoes echo(std::size_t worker, std::span<const std::vector<text::Token>> prompts,
              EchoCheck check);

  /// Fault::environment where the server counts other tokens than were sent: it conditions its
  /// answer on those.
  void check_count(int64_t sent, const CompletionAnswer& answer) const;

 private:
  net::Url url_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<std::unique_ptr<net::HttpClient>> clients_;
  ServedModel model_;
  PromptForm form_;
};

}  // namespace cupel::eval
