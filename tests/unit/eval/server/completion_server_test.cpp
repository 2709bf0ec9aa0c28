// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/completion_server.h"

#include <algorithm>
#include <filesystem>

#include "eval/harness/cache.h"
#include "letter_server.h"

namespace cupel::eval {
namespace {

using test::error_of;
using test::LetterServer;
using test::LetterTokenizer;
using test::Oddities;

/// Expects the next letter, with a pattern that depends on all tokens before.
std::vector<float> model(const test::Tokens& ids, int64_t p) {
  auto out = test::one_hot((ids[static_cast<std::size_t>(p)] + 1) % 26, 3);
  int64_t sum = 0;
  for (int64_t i = 0; i <= p; ++i) sum += ids[static_cast<std::size_t>(i)];
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] += 0.25f * static_cast<float>((i * 7 + static_cast<std::size_t>(sum)) % 13);
  return out;
}

std::shared_ptr<LetterTokenizer> letters(bool bos = false) {
  auto out = std::make_shared<LetterTokenizer>();
  out->has_bos = true;
  out->adds_bos = bos;
  return out;
}

ServerOptions options_for(const LetterServer& server) {
  return {.address = server.url() + "#letters", .connections = 1, .answer_seconds = 5};
}

std::vector<Request> some_requests() {
  return {{{0, 1, 2}, {3, 4}},
          {{0, 1}, {2}},
          {{5}, {6, 7, 8, 9}},
          {{0, 1, 2}, {9, 4}},
          {{3, 3}, {3, 3}}};
}

std::vector<Likelihood> answers(LikelihoodModel& m, const std::vector<Request>& requests) {
  std::vector<Likelihood> out(requests.size());
  std::size_t count = 0;
  m.score(requests, [&](std::size_t i, const Likelihood& l) {
    out[i] = l;
    ++count;
  });
  EXPECT_EQ(count, requests.size());
  return out;
}

void expect_equal(const std::vector<Likelihood>& a, const std::vector<Likelihood>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i].log_prob, b[i].log_prob, 1e-9) << i;
    EXPECT_EQ(a[i].greedy, b[i].greedy) << i;
  }
}

std::vector<Likelihood> wanted(const std::vector<Request>& requests) {
  test::FakeScorer scorer("logits", model);
  return answers(*likelihood_of(scorer), requests);
}

TEST(CompletionServer, LikelihoodsAreThoseOfTheLogits) {
  LetterServer server(model);
  CompletionServer asked(options_for(server), letters());
  EXPECT_EQ(asked.description(), server.url().substr(0) + "#letters");
  EXPECT_EQ(asked.engine(), "completions, prompts as token ids");
  EXPECT_EQ(asked.max_length(), 510);
  expect_equal(answers(asked, some_requests()), wanted(some_requests()));
  const auto last = server.requests().back();
  EXPECT_EQ(last["model"], "letters");
  EXPECT_EQ(last["echo"], true);
  EXPECT_TRUE(last["prompt"][0].is_array());
}

TEST(CompletionServer, SomeContinuationIsGreedyAndSomeIsNot) {
  const auto w = wanted(some_requests());
  EXPECT_TRUE(std::any_of(w.begin(), w.end(), [](const Likelihood& l) { return l.greedy; }));
  EXPECT_FALSE(std::all_of(w.begin(), w.end(), [](const Likelihood& l) { return l.greedy; }));
}

TEST(CompletionServer, BatchesAndConnectionsChangeNothing) {
  LetterServer server(model);
  ServerOptions options = options_for(server);
  options.batch = 2;
  options.connections = 3;
  CompletionServer asked(options, letters());
  const std::size_t before = server.requests().size();
  expect_equal(answers(asked, some_requests()), wanted(some_requests()));
  const auto requests = server.requests();
  std::vector<std::size_t> sizes;
  for (std::size_t i = before + 6; i < requests.size(); ++i)  // behind the proof of the echo
    sizes.push_back(requests[i]["prompt"].size());
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 2, 2}));
}

TEST(CompletionServer, TheLongestIsAskedFirst) {
  LetterServer server(model);
  CompletionServer asked(options_for(server), letters());
  answers(asked, some_requests());
  const auto requests = server.requests();
  EXPECT_EQ(requests[requests.size() - 5]["prompt"][0].size(), 5u);
  EXPECT_EQ(requests.back()["prompt"][0].size(), 3u);
}

TEST(CompletionServer, LongContextsLoseTheirBeginning) {
  LetterServer server(model, {.positions = 90});  // the sentence that is asked first has 88 tokens
  CompletionServer asked(options_for(server), letters());
  Request r{Tokens(200, 1), {2, 3}};
  for (std::size_t i = 0; i < r.context.size(); ++i) r.context[i] = static_cast<int>(i % 26);
  test::FakeScorer scorer("logits", model);
  scorer.longest = 88;
  expect_equal(answers(asked, {r}), answers(*likelihood_of(scorer), {r}));
  EXPECT_EQ(server.requests().back()["prompt"][0].size(), 89u) << "and one position to write";
}

TEST(CompletionServer, BlocksAreScored) {
  LetterServer server(model);
  CompletionServer asked(options_for(server), letters());
  TextJob job;
  const auto tokenizer = letters(true);
  job.tokenizer = tokenizer.get();
  job.corpus = plain_corpus("t", "the quick brown fox jumps over the lazy dog again and again");
  for (const Protocol protocol : {Protocol::gptq, Protocol::llamacpp, Protocol::words}) {
    job.options = {protocol, 16, 0, RollingBos::once};
    const PerplexityResult r = measure_targets(asked, job);
    test::FakeScorer scorer("logits", model);
    TextJob local = job;
    local.models = {&scorer};
    EXPECT_NEAR(r.value / measure_text(local)[0].perplexity.value, 1, 1e-12);
  }
}

TEST(CompletionServer, TheKeyIsSentAndKeptOutOfMessages) {
  LetterServer server(model, {.instead = [](const auto&, int before) {
                        return before > 1 ? test::reply(401, R"({"error": "no"})") : test::Reply{};
                      }});
  ServerOptions options = options_for(server);
  options.api_key = "secret";
  CompletionServer asked(options, letters());
  EXPECT_NE(server.last_head().find("Authorization: Bearer secret\r\n"), std::string::npos);
  const Error e = error_of([&] { answers(asked, some_requests()); });
  EXPECT_NE(e.message().find("OPENAI_API_KEY"), std::string::npos) << e.message();
  EXPECT_EQ(std::string(e.what()).find("secret"), std::string::npos);
}

TEST(CompletionServer, ModelsAreNamedAndSized) {
  LetterServer server(model);
  EXPECT_EQ(CompletionServer({.address = server.url()}, letters()).description(),
            server.url() + "#letters");
  Error e = error_of([&] { CompletionServer({.address = server.url() + "#latters"}, letters()); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_NE(e.message().find("did you mean 'letters'"), std::string::npos) << e.message();
  LetterServer silent(model, {.positions = 0});
  e = error_of([&] { CompletionServer({.address = silent.url()}, letters()); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_NE(e.message().find("--max-length"), std::string::npos);
  EXPECT_EQ(CompletionServer({.address = silent.url(), .positions = 100}, letters()).max_length(),
            98);
}

TEST(CompletionServer, WritesText) {
  LetterServer server(model);
  CompletionServer asked(options_for(server), letters());
  text::GenerateOptions o;
  o.max_tokens = 6;
  o.sampling.temperature = 0;
  std::string streamed;
  const text::Generation g = asked.generate(test::Tokens{0, 1, 2}, o, [&](std::string_view s) {
    streamed += s;
    return true;
  });
  test::Tokens all = {0, 1, 2};
  while (all.size() < 9) all.push_back(argmax(model(all, static_cast<int64_t>(all.size()) - 1)));
  EXPECT_EQ(g.text, letters()->decode(std::span(all).subspan(3), false));
  EXPECT_EQ(streamed, g.text);
  EXPECT_EQ(g.finish, text::FinishReason::length);
  EXPECT_EQ(g.prompt_tokens, 3);
  o.stop = {g.text.substr(2, 2), g.text.substr(4, 1)};  // this server knows no stop texts
  const text::Generation cut = asked.generate(test::Tokens{0, 1, 2}, o, [](auto) { return true; });
  EXPECT_EQ(cut.text, g.text.substr(0, std::min(g.text.find(o.stop[0]), g.text.find(o.stop[1]))));
  EXPECT_EQ(cut.finish, text::FinishReason::stop);
}

TEST(CompletionServer, WritesManyAndKeepsThem) {
  LetterServer server(model);
  ServerOptions options = options_for(server);
  options.connections = 3;
  CompletionServer asked(options, letters());
  const auto folder = std::filesystem::temp_directory_path() / "cupel-server-cache";
  std::filesystem::remove_all(folder);
  text::GenerateOptions o;
  o.max_tokens = 3;
  o.sampling.temperature = 0;
  std::vector<test::Tokens> prompts;
  for (int i = 0; i < 10; ++i) prompts.push_back({i, i + 1});
  std::vector<text::Generator::Order> orders;
  for (const auto& p : prompts) orders.push_back({p, &o});
  std::vector<std::string> first(10), second(10);
  for (auto* texts : {&first, &second}) {
    AnswerCache cache(folder.string(), "m");
    cached(static_cast<text::Generator&>(asked), cache)
        ->generate_many(orders, [&](std::size_t i, text::Generation g) { (*texts)[i] = g.text; });
  }
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(first[i], asked.generate(prompts[i], o, [](auto) { return true; }).text);
  EXPECT_EQ(first, second);
  EXPECT_EQ(server.requests().size(), 1u + 10u + 10u) << "form, first run, and those just above";
  std::filesystem::remove_all(folder);
}

TEST(CompletionServer, PromptsThatDoNotFitAreRefused) {
  LetterServer server(model, {.positions = 100});
  CompletionServer asked(options_for(server), letters());
  const Error e = error_of([&] { asked.generate(Tokens(100, 1), {}, [](auto) { return true; }); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_NE(e.message().find("holds 100"), std::string::npos) << e.message();
}

}  // namespace
}  // namespace cupel::eval
