// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/completion_json.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/utf8.h"

namespace cupel::eval {

namespace {

using nlohmann::ordered_json;

ordered_json prompts_json(const std::vector<ServerPrompt>& prompts) {
  ordered_json out = ordered_json::array();
  for (const ServerPrompt& p : prompts) {
    CUPEL_CHECK(!p.as_text || text::utf8_valid_prefix(p.text) == p.text.size(), user,
                "a prompt that begins or ends inside a character can't be sent as text, and the "
                "server takes no token ids");
    out.push_back(p.as_text ? ordered_json(p.text) : ordered_json(p.ids));
  }
  // Servers that know text alone often know no lists either.
  return prompts.size() == 1 && prompts[0].as_text ? out[0] : out;
}

/// Everything that a server might take from its own or the model's defaults is said: vLLM reads
/// top_k, top_p and repetition_penalty from generation_config.json otherwise. The penalty has
/// vLLM's name and llama.cpp's.
void add_sampling(ordered_json& out, const text::GenerateOptions& o) {
  const text::SamplingOptions& s = o.sampling;
  out["temperature"] = s.temperature;
  out["seed"] = s.seed;
  out["repetition_penalty"] = s.repeat_penalty;
  out["repeat_penalty"] = s.repeat_penalty;
  if (s.temperature > 0) {
    out["top_p"] = s.top_p;
    out["top_k"] = s.top_k;
    out["min_p"] = s.min_p;
  }
  for (const auto& [token, bias] : s.bias) out["logit_bias"][std::to_string(token)] = bias;
  if (!o.stop.empty()) out["stop"] = o.stop;
  if (o.ignore_end) out["ignore_eos"] = true;
}

}  // namespace

std::string to_json(const CompletionRequest& request) {
  CUPEL_ASSERT(!request.prompts.empty() && request.generate.max_tokens > 0);
  ordered_json out = {{"model", request.model},
                      {"prompt", prompts_json(request.prompts)},
                      {"max_tokens", request.generate.max_tokens}};
  if (request.echo)
    out.update({{"temperature", 0}, {"echo", true}, {"logprobs", 1}});
  else
    add_sampling(out, request.generate);
  return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace cupel::eval
