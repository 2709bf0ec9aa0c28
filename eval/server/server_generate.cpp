// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>

#include "base/error.h"
#include "base/threads.h"
#include "eval/server/completion_server.h"
#include "eval/server/workers.h"

namespace cupel::eval {

namespace {

/// Servers end before a stop text themselves; some look at the first four alone.
bool cut_at_stop(std::string& text, const std::vector<std::string>& stops) {
  std::size_t end = text.npos;
  for (const std::string& s : stops)
    if (!s.empty()) end = std::min(end, text.find(s));
  if (end == text.npos) return false;
  text.resize(end);
  return true;
}

text::FinishReason finish_of(const std::string& reason) {
  if (reason == "stop") return text::FinishReason::stop;
  CUPEL_CHECK(reason == "length", environment, "the answer ended because of '", reason,
              "'; expected finish_reason 'stop' or 'length'");
  return text::FinishReason::length;
}

}  // namespace

text::Generation CompletionServer::write(std::size_t worker, const Order& order) {
  Tokens ids(order.prompt.begin(), order.prompt.end());
  if (ids.empty()) ids = {prefix_token(link_.tokenizer())};
  const auto n = static_cast<int64_t>(ids.size());
  const int64_t room = link_.model().positions - n;
  CUPEL_CHECK(room > 0, user, "the prompt has ", n, " tokens, the context of ", description(),
              " holds ", link_.model().positions);
  CompletionRequest request;
  request.prompts = {link_.prompt_of(ids)};
  request.generate = *order.options;
  int64_t& most = request.generate.max_tokens;
  most = most < 0 ? room : std::min(most, room);
  text::Generation out;
  out.prompt_tokens = n;
  if (most == 0) return out;
  const double start = now_seconds();
  CompletionAnswer answer = link_.ask(worker, std::move(request));
  out.decode_seconds = now_seconds() - start;
  if (!link_.form().as_text) link_.check_count(n, answer);
  Completion& choice = answer.choices[0];
  out.finish = finish_of(choice.finish_reason);
  out.text = std::move(choice.text);
  if (cut_at_stop(out.text, order.options->stop)) out.finish = text::FinishReason::stop;
  return out;
}

text::Generation CompletionServer::generate(std::span<const text::Token> prompt,
                                            const text::GenerateOptions& options,
                                            const std::function<bool(std::string_view)>& on_text) {
  text::Generation out = write(0, {prompt, &options});
  if (!on_text(out.text)) out.finish = text::FinishReason::cancelled;
  return out;
}

void CompletionServer::generate_many(
    std::span<const Order> orders, const std::function<void(std::size_t, text::Generation)>& sink) {
  in_parallel<text::Generation>(
      orders.size(), link_.connections(),
      [&](std::size_t worker, std::size_t i) { return write(worker, orders[i]); }, sink);
}

}  // namespace cupel::eval
