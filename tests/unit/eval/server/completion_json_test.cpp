// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/server/completion_json.h"

#include <nlohmann/json.hpp>

#include "fakes.h"

namespace cupel::eval {
namespace {

using nlohmann::json;
using test::error_of;

TEST(CompletionJson, AsksForEchoedLogProbabilities) {
  CompletionRequest r;
  r.model = "m";
  r.prompts = {{{1, 2}, {}, false}, {{3}, {}, false}};
  r.echo = true;
  r.generate.max_tokens = 1;
  const json expected = {{"model", "m"}, {"prompt", {{1, 2}, {3}}}, {"max_tokens", 1},
                         {"echo", true}, {"logprobs", 1},           {"temperature", 0}};
  EXPECT_EQ(json::parse(to_json(r)), expected);
}

TEST(CompletionJson, OneTextIsNoList) {
  CompletionRequest r;
  r.prompts = {{{}, "a \"b\"", true}};
  r.generate.max_tokens = 1;
  EXPECT_EQ(json::parse(to_json(r))["prompt"], "a \"b\"");
  r.prompts.push_back({{}, "c", true});
  EXPECT_EQ(json::parse(to_json(r))["prompt"], json({"a \"b\"", "c"}));
  r.prompts = {{{5}, {}, false}};
  EXPECT_EQ(json::parse(to_json(r))["prompt"], json::array({json::array({5})}));
}

TEST(CompletionJson, SaysEverySamplingOption) {
  CompletionRequest r;
  r.prompts = {{{1}, {}, false}};
  r.generate.max_tokens = 7;
  r.generate.stop = {"\n\n", "Q:"};
  r.generate.sampling = {.temperature = 0.5, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 9};
  r.generate.sampling.bias = {{3, -2.0f}};
  r.generate.ignore_end = true;
  const json j = json::parse(to_json(r));
  EXPECT_EQ(j["max_tokens"], 7);
  EXPECT_EQ(j["stop"], json({"\n\n", "Q:"}));
  EXPECT_EQ(j["temperature"], 0.5);
  EXPECT_EQ(j["seed"], 9);
  EXPECT_EQ(j["top_k"], 0);
  EXPECT_EQ(j["top_p"], 1);
  EXPECT_EQ(j["min_p"], 0);
  EXPECT_EQ(j["repetition_penalty"], 1);
  EXPECT_EQ(j["repeat_penalty"], 1);
  EXPECT_EQ(j["logit_bias"], json({{"3", -2.0}}));
  EXPECT_EQ(j["ignore_eos"], true);
  EXPECT_FALSE(j.contains("echo"));
  EXPECT_FALSE(j.contains("logprobs"));
}

TEST(CompletionJson, TextThatIsNotUtf8IsRefused) {
  CompletionRequest r;
  r.prompts = {{{}, "a\xC3", true}};
  r.generate.max_tokens = 1;
  const Error e = error_of([&] { to_json(r); });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_NE(e.message().find("inside a character"), std::string::npos);
}

}  // namespace
}  // namespace cupel::eval
