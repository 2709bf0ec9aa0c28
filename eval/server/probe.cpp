// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/probe.h"

#include <cmath>

#include "base/error.h"
#include "base/log.h"

namespace cupel::eval {

namespace {

using Tokens = std::vector<text::Token>;

/// A lower- and an upper-case word, punctuation and digits: other tokenizers cut it elsewhere.
constexpr std::string_view kSentence =
    "The quick brown fox jumps over the lazy dog, and 1024 birds watch it from Norway's trees.";
/// Between sums in other orders, at half precision, and from one position to the next.
constexpr double kNear = 0.05, kFar = 0.1;
constexpr std::size_t kPlaces = 5;

struct Try {
  bool taken = false;
  int64_t counted = -1;  // tokens of the prompt, where the server says
  std::string refusal;
};

Try ask_for_one(ServerLink& link, ServerPrompt prompt) {
  CompletionRequest request;
  request.prompts = {std::move(prompt)};
  request.generate.max_tokens = 1;
  request.generate.sampling = {.temperature = 0};
  const net::HttpResponse r = link.post(0, request);
  const bool refused =
      r.status == 400 || r.status == 415 || r.status == 422 || r.status == 500 || r.status == 501;
  if (refused) return {false, -1, cat(r.status, " ", net::error_text(r))};
  return {true,
          in_frame("asking " + link.name(), [&] { return link.read(r, request); }).prompt_tokens,
          {}};
}

PromptForm text_form(ServerLink& link, const std::string& why_no_ids) {
  const Tokens ids = link.tokenizer().encode(kSentence, {false, false});
  const Try text = ask_for_one(link, {{}, std::string(kSentence), true});
  CUPEL_CHECK(text.taken, environment, link.name(),
              " takes a prompt neither as token ids nor as text: ", why_no_ids, "; ", text.refusal);
  const auto n = static_cast<int64_t>(ids.size());
  if (text.counted < 0) {
    const Tokens whole = link.tokenizer().encode(kSentence, {false, true});
    return {true, whole.size() > ids.size() && whole[0] == link.tokenizer().bos()};
  }
  CUPEL_CHECK(text.counted == n || (text.counted == n + 1 && link.tokenizer().bos() >= 0),
              environment, link.name(), " counts ", text.counted, " tokens in a text that has ", n,
              " by --tokenizer: it belongs to another model");
  return {true, text.counted > n};
}

/// The token written after the first k tokens, and what the whole prompt's echo says of that place.
struct Place {
  double written = 0, here = 0, before = 0;
};

Place place_at(ServerLink& link, const PromptScores& whole, const Tokens& ids, std::size_t k) {
  const std::vector<Tokens> prompts = {Tokens(ids.begin(), ids.begin() + static_cast<long>(k))};
  const PromptScores part = link.echo(0, prompts, EchoCheck::count).prompts[0];
  return {part.written_log_prob, whole.best[k], whole.best[k - 1]};
}

void check_places(ServerLink& link, const PromptScores& whole, const Tokens& ids) {
  bool late = true, apart = false, written = false;
  for (std::size_t i = 1; i <= kPlaces; ++i) {
    const std::size_t k = 2 + (ids.size() - 3) * i / kPlaces;  // the last is ids.size() - 1
    const Place p = place_at(link, whole, ids, k);
    const bool known = std::isfinite(p.written) && std::isfinite(p.here) && std::isfinite(p.before);
    written = written || std::isfinite(p.written);
    apart = apart || (known && std::abs(p.written - p.here) > kFar);
    late = late && known && std::abs(p.written - p.before) < kNear;
  }
  CUPEL_CHECK(written, environment, link.name(),
              " lists none of the tokens that it wrote behind prompts: its log-probabilities may "
              "be shifted by one");
  CUPEL_CHECK(!late || !apart, environment, link.name(),
              " lists the log-probabilities of a prompt late by one: those of a place stand at the "
              "token before it");
  if (apart)
    log::warn("eval", cat(link.name(),
                          ": the best tokens of a prompt's echo have other "
                          "probabilities than the tokens that it writes"));
}

}  // namespace

PromptForm find_prompt_form(ServerLink& link) {
  const Tokens ids = link.tokenizer().encode(kSentence, {false, true});
  CUPEL_CHECK(ids.size() >= 6, data, "--tokenizer makes ", ids.size(), " tokens of '", kSentence,
              "'; it can't be a language model's");
  const Try numbers = ask_for_one(link, {ids, {}, false});
  const auto n = static_cast<int64_t>(ids.size());
  if (numbers.taken && (numbers.counted < 0 || numbers.counted == n)) return {};
  const std::string why =
      numbers.taken ? cat("it counts ", numbers.counted, " tokens of ", n) : numbers.refusal;
  log::debug("eval", cat(link.name(), " takes no token ids (", why, "); prompts are sent as text"));
  return text_form(link, why);
}

void prove_echo(ServerLink& link) {
  const std::vector<Tokens> prompts = {link.tokenizer().encode(kSentence, {false, true})};
  const Tokens& ids = prompts[0];
  const ServerLink::Echoes answer = link.echo(0, prompts, EchoCheck::texts);
  const PromptScores& whole = answer.prompts[0];
  CUPEL_CHECK(answer.completion_tokens < 0 || whole.written == answer.completion_tokens,
              environment, link.name(), " wrote ", answer.completion_tokens,
              " tokens and lists log-probabilities of ", whole.written,
              ": its list does not fit the tokens, and may be shifted by one");
  for (std::size_t i = 2; i < ids.size(); ++i)
    CUPEL_CHECK(std::isfinite(whole.log_prob[i]), environment, link.name(),
                " gives no log-probability of token ", i, " of a prompt");
  check_places(link, whole, ids);
}

}  // namespace cupel::eval
