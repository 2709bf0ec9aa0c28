// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/completion_server.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "eval/server/probe.h"
#include "eval/server/workers.h"

namespace cupel::eval {

namespace {

/// Of the token at `place` of a prompt.
double known(const std::vector<double>& values, std::size_t place, const char* what,
             const std::string& server) {
  CUPEL_CHECK(std::isfinite(values[place]), environment, server, " gives no ", what, " of token ",
              place, " of a prompt of ", values.size(), " tokens");
  return values[place];
}

/// The longest first: a limit that is too small shows at once, and batches have equal lengths.
std::vector<std::size_t> by_length(const std::vector<Tokens>& prompts) {
  std::vector<std::size_t> out(prompts.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    return prompts[a].size() > prompts[b].size();
  });
  return out;
}

}  // namespace

CompletionServer::CompletionServer(const ServerOptions& options,
                                   std::shared_ptr<const text::Tokenizer> tokenizer)
    : options_(options), link_(options, std::move(tokenizer)) {
  link_.set_form(find_prompt_form(link_));
}

int64_t CompletionServer::max_length() const {
  return link_.model().positions - 2;
}

std::string CompletionServer::engine() const {
  return cat("completions, prompts as ", link_.form().as_text ? "text" : "token ids");
}

void CompletionServer::echo_all(const std::vector<Tokens>& prompts, const EchoSink& sink) {
  if (prompts.empty()) return;
  if (!proven_) prove_echo(link_);
  proven_ = true;
  const EchoCheck check = link_.form().as_text ? EchoCheck::texts : EchoCheck::count;
  const std::vector<std::size_t> order = by_length(prompts);
  const auto batch = static_cast<std::size_t>(options_.batch);
  const auto part = [&](std::size_t i) {
    return std::span(order).subspan(i * batch, std::min(batch, order.size() - i * batch));
  };
  in_parallel<std::vector<PromptScores>>(
      (order.size() + batch - 1) / batch, link_.connections(),
      [&](std::size_t worker, std::size_t i) {
        std::vector<Tokens> asked;
        for (const std::size_t p : part(i)) asked.push_back(prompts[p]);
        return link_.echo(worker, asked, check).prompts;
      },
      [&](std::size_t i, const std::vector<PromptScores>& scores) {
        for (std::size_t k = 0; k < scores.size(); ++k) sink(part(i)[k], scores[k]);
      });
}

void CompletionServer::score(std::span<const Request> requests, const LikelihoodSink& sink) {
  std::vector<Tokens> prompts;
  for (const Request& r : requests) {
    prompts.push_back(model_input(r, max_length()));
    prompts.back().push_back(r.continuation.back());
  }
  echo_all(prompts, [&](std::size_t i, const PromptScores& scores) {
    Likelihood sum{0, true};
    const std::size_t n = prompts[i].size();
    for (std::size_t t = n - requests[i].continuation.size(); t < n; ++t) {
      const double log_prob = known(scores.log_prob, t, "log-probability", description());
      sum.log_prob += log_prob;
      const double best = known(scores.best, t, "top_logprobs", description());
      sum.greedy = sum.greedy && log_prob >= best;
    }
    sink(i, sum);
  });
}

void CompletionServer::score_blocks(std::span<const Block> blocks, const TargetSink& sink) {
  std::vector<Tokens> prompts;
  for (const Block& b : blocks) {
    CUPEL_ASSERT(std::equal(b.targets.begin(), b.targets.end() - 1,
                            b.ids.begin() + static_cast<std::ptrdiff_t>(b.from) + 1, b.ids.end()));
    prompts.push_back(b.ids);
    prompts.back().push_back(b.targets.back());
  }
  echo_all(prompts, [&](std::size_t i, const PromptScores& scores) {
    std::vector<double> out;
    for (std::size_t t = prompts[i].size() - blocks[i].targets.size(); t < prompts[i].size(); ++t)
      out.push_back(known(scores.log_prob, t, "log-probability", description()));
    sink(i, out);
  });
}

}  // namespace cupel::eval
