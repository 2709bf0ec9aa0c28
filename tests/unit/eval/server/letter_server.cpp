// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "letter_server.h"

#include "eval/divergence.h"
#include "eval/softmax.h"

namespace cupel::test {

using nlohmann::json;

LetterServer::LetterServer(const FakeScorer::Logits& logits, Oddities odd)
    : logits_(logits),
      odd_(std::move(odd)),
      server_([this](const std::string& head, const std::string& body, int before) {
        return answer(head, body, before);
      }) {
  tokenizer_.has_bos = true;
}

Tokens LetterServer::prompt_of(const json& prompt) const {
  if (!prompt.is_string()) return prompt.get<Tokens>();
  Tokens out = odd_.adds_bos ? Tokens{LetterTokenizer::kBos} : Tokens{};
  for (const char c : prompt.get<std::string>())
    out.push_back(c == '#' ? LetterTokenizer::kBos : tokenizer_.encode({&c, 1}, {})[0]);
  return out;
}

json LetterServer::logprobs(const Tokens& ids, std::size_t prompt) const {
  json out;
  const bool hidden = odd_.hides_bos && ids[0] == LetterTokenizer::kBos;
  const std::size_t end = odd_.late ? prompt : ids.size();
  for (std::size_t i = hidden ? 1 : 0; i < end; ++i) {
    const std::string text = tokenizer_.decode({&ids[i], 1}, false);
    out["tokens"].push_back(text);
    if (i == (hidden ? 1u : 0u)) {
      out["token_logprobs"].push_back(nullptr);
      out["top_logprobs"].push_back(nullptr);
      continue;
    }
    const auto row = logits_(ids, static_cast<int64_t>(odd_.late ? i : i - 1));
    const double total = eval::log_sum_exp(row);
    const Token best = eval::argmax(row);
    const auto log_prob = [&](Token t) {
      return static_cast<double>(row[static_cast<std::size_t>(t)]) - total;
    };
    out["token_logprobs"].push_back(log_prob(ids[i]));
    out["top_logprobs"].push_back(
        {{text, log_prob(ids[i])}, {tokenizer_.decode({&best, 1}, false), log_prob(best)}});
  }
  return out;
}

json LetterServer::choice(const Tokens& ids, const json& request, int64_t& written) const {
  Tokens all = ids;
  while (static_cast<int64_t>(all.size() - ids.size()) < request["max_tokens"].get<int64_t>())
    all.push_back(eval::argmax(logits_(all, static_cast<int64_t>(all.size()) - 1)));
  written = static_cast<int64_t>(all.size() - ids.size());
  const bool echo = request.value("echo", false);
  const auto shown = std::span(all).subspan(echo ? 0 : ids.size());
  json out = {{"text", tokenizer_.decode(shown, false)},
              {"finish_reason", "length"},
              {"logprobs", nullptr}};
  if (request.contains("logprobs")) out["logprobs"] = logprobs(all, ids.size());
  return out;
}

Reply LetterServer::answer(const std::string& head, const std::string& body, int before) {
  last_head_ = head;
  if (head.starts_with("GET /v1/models ")) {
    json model = {{"id", odd_.model}};
    if (odd_.positions > 0) model["max_model_len"] = odd_.positions;
    return reply(200, json{{"data", {model}}}.dump());
  }
  if (!head.starts_with("POST /v1/completions ")) return reply(404, R"({"detail": "Not Found"})");
  const json request = json::parse(body);
  requests_.push_back(request);
  if (odd_.instead)
    if (Reply r = odd_.instead(request, before); !r.bytes.empty() || r.close) return r;
  const json& prompt = request["prompt"];
  if (!odd_.takes_ids && !prompt.is_string())
    return reply(422, R"({"detail": [{"msg": "Input should be a valid string"}]})");
  json out = {{"choices", json::array()}};
  const json prompts = prompt.is_string() ? json::array({prompt}) : prompt;
  int64_t counted = 0, written = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Tokens ids = prompt_of(prompts[i]);
    int64_t more = 0;
    json c = choice(ids, request, more);
    c["index"] = i;
    out["choices"].insert(out["choices"].begin(), std::move(c));  // the order is free
    counted += static_cast<int64_t>(ids.size());
    written += more;
  }
  if (odd_.counts) out["usage"] = {{"prompt_tokens", counted}, {"completion_tokens", written}};
  if (odd_.change) odd_.change(out, request);
  return reply(200, out.dump());
}

}  // namespace cupel::test
