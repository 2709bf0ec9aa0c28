// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/server_link.h"

#include <algorithm>

#include "base/error.h"

namespace cupel::eval {

namespace {

constexpr const char* kPage = "/completions";

net::ClientOptions client_options(const ServerOptions& options) {
  net::ClientOptions out;
  out.limits.answer_seconds = options.answer_seconds;
  if (!options.api_key.empty())
    out.headers.emplace_back("Authorization", "Bearer " + options.api_key);
  return out;
}

}  // namespace

ServerLink::ServerLink(const ServerOptions& options,
                       std::shared_ptr<const text::Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)) {
  const ServerAddress address = parse_server_address(options.address);
  url_ = address.url;
  for (int64_t i = 0; i < options.connections; ++i)
    clients_.push_back(std::make_unique<net::HttpClient>(url_, client_options(options)));
  model_ = choose_model(served_models(*clients_.at(0)), address);
  if (options.positions > 0) model_.positions = options.positions;
  CUPEL_CHECK(model_.positions > 0, user, name(),
              ": the server does not say how many positions the model has; give their number with "
              "--max-length");
  CUPEL_CHECK(model_.positions > 2, user, name(), ": ", model_.positions,
              " positions hold no prompt");
}

ServerPrompt ServerLink::prompt_of(std::span<const text::Token> ids) const {
  if (!form_.as_text) return {{ids.begin(), ids.end()}, {}, false};
  const bool bos = !ids.empty() && tokenizer_->bos() >= 0 && ids[0] == tokenizer_->bos();
  CUPEL_CHECK(bos || !form_.adds_bos, environment, name(),
              " puts BOS before every text and takes no token ids; a prompt without BOS can't be "
              "asked there");
  return {{}, tokenizer_->decode(form_.adds_bos ? ids.subspan(1) : ids, false), true};
}

net::HttpResponse ServerLink::post(std::size_t worker, CompletionRequest& request) {
  request.model = model_.name;
  return clients_.at(worker)->post_json(kPage, to_json(request));
}

CompletionAnswer ServerLink::read(const net::HttpResponse& response,
                                  const CompletionRequest& request) const {
  CUPEL_CHECK(response.status != 401 && response.status != 403, environment, url_.origin(),
              " answered ", response.status, ": ", net::error_text(response),
              " (the key is read from OPENAI_API_KEY)");
  clients_.at(0)->check_ok(response, kPage);
  return parse_answer(response.body, request);
}

CompletionAnswer ServerLink::ask(std::size_t worker, CompletionRequest request) {
  return in_frame("asking " + name(), [&] { return read(post(worker, request), request); });
}

void ServerLink::check_count(int64_t sent, const CompletionAnswer& answer) const {
  CUPEL_CHECK(answer.prompt_tokens < 0 || answer.prompt_tokens == sent, environment, name(),
              " counts ", answer.prompt_tokens, " tokens where ", sent,
              " were meant: it adds some of its own, or --tokenizer belongs to another model");
}

ServerLink::Echoes ServerLink::echo(std::size_t worker,
                                    std::span<const std::vector<text::Token>> prompts,
                                    EchoCheck check) {
  CompletionRequest request;
  request.echo = true;
  request.generate.max_tokens = 1;  // 0 means "as many as fit" to some
  int64_t sent = 0;
  for (const auto& ids : prompts) {
    request.prompts.push_back(prompt_of(ids));
    sent += static_cast<int64_t>(ids.size());
  }
  const CompletionAnswer answer = ask(worker, std::move(request));
  return in_frame("reading the answer of " + name(), [&] {
    check_count(sent, answer);
    Echoes out{{}, answer.completion_tokens};
    for (std::size_t i = 0; i < prompts.size(); ++i)
      out.prompts.push_back(read_echo(prompts[i], answer.choices[i].tokens, *tokenizer_, check));
    return out;
  });
}

}  // namespace cupel::eval
