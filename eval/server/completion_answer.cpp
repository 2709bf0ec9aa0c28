// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "eval/server/completion_json.h"

namespace cupel::eval {

namespace {

using nlohmann::json;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
/// Rounding may lift the log-probability of a sure token a little above 0.
constexpr double kSlack = 1e-3;

json parse_body(const std::string& body) {
  json out = json::parse(body, nullptr, false);
  if (!out.is_discarded()) return out;
  // Python writes what JSON has no word for.
  for (const char* word : {"NaN", "Infinity"})
    CUPEL_CHECK(body.find(word) == body.npos, environment, "the answer holds ", word,
                ", which is no log-probability");
  fail(Fault::environment, "the answer is not JSON: '", body.substr(0, 100),
       body.size() > 100 ? "..." : "", "'");
}

const json& list_at(const json& j, const char* key) {
  const auto at = j.find(key);
  CUPEL_CHECK(at != j.end() && at->is_array(), environment, "the answer has no list '", key, "'");
  return *at;
}

double log_prob_of(const json& value, std::size_t index) {
  if (value.is_null()) return kUnknown;
  CUPEL_CHECK(value.is_number(), environment, "the log-probability of token ", index,
              " is no number in the answer");
  const double x = value.get<double>();
  CUPEL_CHECK(std::isfinite(x) && x < kSlack, environment, "the log-probability of token ", index,
              " is ", x, " in the answer");
  return std::min(x, 0.0);
}

double best_of(const json& top, std::size_t index) {
  double best = kUnknown;
  if (!top.is_object()) return best;
  for (const auto& [token, value] : top.items())
    best = std::fmax(best, log_prob_of(value, index));  // fmax passes over NaN
  return best;
}

std::vector<ListedToken> tokens_of(const json& choice) {
  const auto at = choice.find("logprobs");
  CUPEL_CHECK(at != choice.end() && at->is_object(), environment,
              "the answer has no 'logprobs': the server does not tell log-probabilities");
  CUPEL_CHECK(!at->contains("content"), environment,
              "the answer lists log-probabilities of the tokens that the server wrote, not of the "
              "prompt's ('content' instead of 'token_logprobs'): the server can't echo a prompt");
  const json& texts = list_at(*at, "tokens");
  const json& log_probs = list_at(*at, "token_logprobs");
  CUPEL_CHECK(texts.size() == log_probs.size(), environment, "the answer lists ", texts.size(),
              " tokens, but ", log_probs.size(), " log-probabilities");
  const auto top = at->find("top_logprobs");
  const bool has_top = top != at->end() && top->is_array();
  CUPEL_CHECK(!has_top || top->size() == texts.size(), environment, "the answer lists ",
              texts.size(), " tokens, but ", has_top ? top->size() : 0, " top_logprobs");
  std::vector<ListedToken> out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CUPEL_CHECK(texts[i].is_string(), environment, "token ", i, " is no text in the answer");
    out.push_back({texts[i].get<std::string>(), log_prob_of(log_probs[i], i),
                   has_top ? best_of((*top)[i], i) : kUnknown});
  }
  return out;
}

Completion choice_of(const json& choice, bool echo) {
  Completion out;
  const auto text = choice.find("text");
  CUPEL_CHECK(text != choice.end() && text->is_string(), environment,
              "the answer has no 'text' in a choice");
  out.text = text->get<std::string>();
  const auto finish = choice.find("finish_reason");
  if (finish != choice.end() && finish->is_string()) out.finish_reason = finish->get<std::string>();
  if (echo) out.tokens = tokens_of(choice);
  return out;
}

int64_t count_at(const json& usage, const char* key) {
  const auto at = usage.find(key);
  return at != usage.end() && at->is_number_integer() ? at->get<int64_t>() : -1;
}

}  // namespace

CompletionAnswer parse_answer(const std::string& body, const CompletionRequest& request) {
  const json j = parse_body(body);
  CUPEL_CHECK(j.is_object(), environment, "the answer is no JSON object");
  const json& choices = list_at(j, "choices");
  const std::size_t n = request.prompts.size();
  CUPEL_CHECK(choices.size() == n, environment, "the answer has ", choices.size(), " choices for ",
              n, n == 1 ? " prompt" : " prompts");
  CompletionAnswer out;
  out.choices.resize(n);
  std::vector<bool> seen(n);
  for (const json& choice : choices) {
    CUPEL_CHECK(choice.is_object(), environment, "a choice of the answer is no JSON object");
    const int64_t index = n == 1 && !choice.contains("index") ? 0 : count_at(choice, "index");
    CUPEL_CHECK(
        index >= 0 && index < static_cast<int64_t>(n) && !seen[static_cast<std::size_t>(index)],
        environment, "the choices of the answer are not numbered from 0 to ", n - 1);
    seen[static_cast<std::size_t>(index)] = true;
    out.choices[static_cast<std::size_t>(index)] = choice_of(choice, request.echo);
  }
  if (const auto usage = j.find("usage"); usage != j.end() && usage->is_object()) {
    out.prompt_tokens = count_at(*usage, "prompt_tokens");
    out.completion_tokens = count_at(*usage, "completion_tokens");
  }
  return out;
}

}  // namespace cupel::eval
