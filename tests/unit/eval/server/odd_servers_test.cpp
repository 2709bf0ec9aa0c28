// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Servers that are known to differ from vLLM, and servers that fail.
#include "eval/server/completion_server.h"
#include "letter_server.h"

namespace cupel::eval {
namespace {

using nlohmann::json;
using test::error_of;
using test::LetterServer;
using test::LetterTokenizer;
using test::Oddities;
using test::reply;
using test::Reply;

/// Sure of the next letter: what a place expects differs a lot from what its neighbours expect.
std::vector<float> model(const test::Tokens& ids, int64_t p) {
  const int last = ids[static_cast<std::size_t>(p)];
  auto out = test::one_hot((last * 5 + 1) % 26, 2 + static_cast<float>(last % 7));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += 0.1f * static_cast<float>(i % 5);
  return out;
}

std::shared_ptr<LetterTokenizer> letters(bool bos = false) {
  auto out = std::make_shared<LetterTokenizer>();
  out->has_bos = true;
  out->adds_bos = bos;
  return out;
}

CompletionServer open(const LetterServer& server, bool bos = false) {
  return CompletionServer({.address = server.url(), .connections = 1, .answer_seconds = 2},
                          letters(bos));
}

double log_prob(CompletionServer& asked, const Request& request) {
  double out = 1;
  asked.score({&request, 1}, [&](std::size_t, const Likelihood& l) { out = l.log_prob; });
  return out;
}

double wanted(const Request& request) {
  test::FakeScorer scorer("logits", model);
  double out = 1;
  likelihood_of(scorer)->score({&request, 1},
                               [&](std::size_t, const Likelihood& l) { out = l.log_prob; });
  return out;
}

const Request kRequest{{4, 8, 15}, {16, 23}};
const Request kWithBos{{LetterTokenizer::kBos, 4, 8}, {16, 23}};

/// Scoring fails with a message that holds `part`.
void expect_refused(const Oddities& odd, const std::string& part, const Request& request = kRequest,
                    bool bos = false) {
  LetterServer server(model, odd);
  const Error e = error_of([&] {
    CompletionServer asked = open(server, bos);
    log_prob(asked, request);
  });
  EXPECT_EQ(e.fault(), Fault::environment);
  EXPECT_NE(std::string(e.what()).find(part), std::string::npos)
      << "'" << part << "' is not in: " << e.what();
}

TEST(OddServers, TextAlone) {
  LetterServer server(model, {.takes_ids = false});
  CompletionServer asked = open(server);
  EXPECT_EQ(asked.engine(), "completions, prompts as text");
  EXPECT_NEAR(log_prob(asked, kRequest), wanted(kRequest), 1e-9);
  EXPECT_EQ(server.requests().back()["prompt"], "eipqx");
}

TEST(OddServers, TextWithABosOfItsOwn) {
  for (const bool counts : {true, false}) {
    LetterServer server(model, {.takes_ids = false, .adds_bos = true, .counts = counts});
    CompletionServer asked = open(server, true);
    EXPECT_NEAR(log_prob(asked, kWithBos), wanted(kWithBos), 1e-9);
    EXPECT_EQ(server.requests().back()["prompt"], "eiqx") << "the server puts it in front";
    const Error e = error_of([&] { log_prob(asked, kRequest); });
    EXPECT_NE(e.message().find("puts BOS before every text"), std::string::npos) << e.message();
  }
}

TEST(OddServers, ABosThatIsNotListed) {
  LetterServer server(model, {.takes_ids = false, .adds_bos = true, .hides_bos = true});
  CompletionServer asked = open(server, true);
  EXPECT_NEAR(log_prob(asked, kWithBos), wanted(kWithBos), 1e-9);
  const Error e = error_of([&] { log_prob(asked, {{LetterTokenizer::kBos}, {4, 8}}); });
  EXPECT_NE(e.message().find("no log-probability of token 1"), std::string::npos) << e.message();
}

TEST(OddServers, TextThatIsCutIntoOtherTokens) {
  // A tokenizer with a token for "qx": the list is shorter, and counts differ.
  const auto join = [](json& answer, const json& request) {
    if (!request.value("echo", false) || request["prompt"] != "eipqx") return;
    json& l = answer["choices"][0]["logprobs"];
    for (const char* key : {"tokens", "token_logprobs", "top_logprobs"}) l[key].erase(3);
    l["tokens"][3] = "qx";
    answer.erase("usage");
  };
  expect_refused({.takes_ids = false, .change = join}, "token 3 of the prompt is \"qx\"");
  const auto other = [](json& answer, const json&) { answer["usage"]["prompt_tokens"] = 40; };
  expect_refused({.takes_ids = false, .change = other}, "it belongs to another model");
}

TEST(OddServers, TokensThatTheServerAdds) {
  // Ids are taken, and a BOS put in front of them: found by the count, then refused as text too.
  const auto one_more = [](json& answer, const json& request) {
    if (!request["prompt"].is_string())
      answer["usage"]["prompt_tokens"] = answer["usage"]["prompt_tokens"].get<int>() + 1;
  };
  LetterServer server(model, {.change = one_more});
  EXPECT_EQ(open(server).engine(), "completions, prompts as text");
  const auto later = [](json& answer, const json& request) {
    if (request.value("echo", false)) answer["usage"]["prompt_tokens"] = 1000;
  };
  expect_refused({.change = later}, "counts 1000 tokens");
}

TEST(OddServers, NeitherIdsNorText) {
  expect_refused(
      {.instead = [](const json&, int) { return reply(400, R"({"error": "chat only"})"); }},
      "neither as token ids nor as text: 400 chat only; 400 chat only");
}

TEST(OddServers, LogProbabilitiesThatAreLateByOne) {
  expect_refused({.late = true}, "may be shifted by one");
  // The same where the server says nothing of how many tokens it wrote, and lists that one.
  const auto shifted = [](json& answer, const json& request) {
    if (!request.value("echo", false)) return;
    const auto ids = request["prompt"][0].get<test::Tokens>();
    json& l = answer["choices"][0]["logprobs"];
    const std::size_t n = l["tokens"].size();
    for (const char* key : {"token_logprobs", "top_logprobs"}) {
      for (std::size_t i = 1; i + 1 < n; ++i)
        if (i < ids.size()) l[key][i] = l[key][i + 1];
    }
    answer.erase("usage");
  };
  expect_refused({.change = shifted}, "late by one");
}

TEST(OddServers, NothingEchoed) {
  const auto content = [](json& answer, const json& request) {
    if (request.value("echo", false))
      answer["choices"][0]["logprobs"] = {{"content", {{{"token", "a"}, {"logprob", -1}}}}};
  };
  expect_refused({.change = content}, "can't echo a prompt");
  const auto written = [](json& answer, const json& request) {
    if (!request.value("echo", false)) return;
    answer["choices"][0]["logprobs"] = {
        {"tokens", {"a"}}, {"token_logprobs", {-1.0}}, {"top_logprobs", {{{"a", -1.0}}}}};
  };
  expect_refused({.change = written}, "1 tokens for a prompt of");
}

TEST(OddServers, LogProbabilitiesThatAreMissing) {
  const auto at_last = [](const char* key) {
    return [key](json& answer, const json& request) {
      if (request.value("echo", false) && request["prompt"][0].size() == 5)
        answer["choices"][0]["logprobs"][key][4] = nullptr;
    };
  };
  expect_refused({.change = at_last("token_logprobs")},
                 "no log-probability of token 4 of a prompt of 5");
  expect_refused({.change = at_last("top_logprobs")},
                 "no top_logprobs of token 4 of a prompt of 5");
}

TEST(OddServers, WhatFailsForAWhile) {
  for (const int kind : {429, 503, 0}) {
    LetterServer server(model, {.instead = [&](const json&, int before) {
                          if (before != 3) return Reply{};
                          return kind == 0 ? Reply{"", true} : reply(kind, "later");
                        }});
    CompletionServer asked = open(server);
    EXPECT_NEAR(log_prob(asked, kRequest), wanted(kRequest), 1e-9) << kind;
  }
}

TEST(OddServers, WhatFails) {
  const auto on_echo = [](const Reply& r) {
    return [r](const json& request, int) { return request.value("echo", false) ? r : Reply{}; };
  };
  Reply slow = reply(200, "{}");
  slow.pause_seconds = 2.5;
  expect_refused({.instead = on_echo(slow)}, "did not answer POST /v1/completions within the time");
  expect_refused({.instead = on_echo(reply(500, R"({"error": {"message": "CUDA error"}})"))},
                 "answered 500 to /v1/completions: CUDA error");
  expect_refused({.instead = on_echo(reply(200, "{\"choices\": ["))}, "not JSON");
  expect_refused({.instead = on_echo(reply(200, "{\"choices\": []}"))}, "0 choices for 1 prompt");
}

TEST(OddServers, ReasonsToEndThatAreNoEnd) {
  const auto aborted = [](json& answer, const json&) {
    answer["choices"][0]["finish_reason"] = "abort";
  };
  LetterServer server(model, {.change = aborted});
  CompletionServer asked = open(server);
  const Error e = error_of([&] {
    asked.generate(test::Tokens{1, 2}, {.max_tokens = 2}, [](auto) { return true; });
  });
  EXPECT_NE(e.message().find("'abort'"), std::string::npos) << e.message();
}

TEST(OddServers, NoServerAtAll) {
  LetterServer server(model);
  std::string url = server.url();
  url.replace(url.find("/v1"), 3, "/v2");
  const Error e = error_of([&] { CompletionServer({.address = url}, letters()); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_NE(e.message().find("does not list its models"), std::string::npos) << e.message();
}

}  // namespace
}  // namespace cupel::eval
