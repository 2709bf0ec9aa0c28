// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cmath>

#include "eval/server/completion_json.h"
#include "fakes.h"

namespace cupel::eval {
namespace {

using test::error_of;

CompletionRequest request_for(std::size_t prompts, bool echo) {
  CompletionRequest out;
  out.prompts.resize(prompts);
  out.echo = echo;
  return out;
}

const std::string kGood =
    R"({"choices": [{"index": 0, "text": "ab", "finish_reason": "length", "logprobs": {
        "tokens": ["a", "b"], "token_logprobs": [null, -0.5],
        "top_logprobs": [null, {"b": -0.5, "c": -0.25}]}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1}})";

TEST(CompletionAnswer, IsRead) {
  const CompletionAnswer a = parse_answer(kGood, request_for(1, true));
  EXPECT_EQ(a.choices[0].text, "ab");
  EXPECT_EQ(a.choices[0].finish_reason, "length");
  EXPECT_EQ(a.prompt_tokens, 1);
  EXPECT_EQ(a.completion_tokens, 1);
  const auto& t = a.choices[0].tokens;
  ASSERT_EQ(t.size(), 2u);
  EXPECT_EQ(t[0].text, "a");
  EXPECT_TRUE(std::isnan(t[0].log_prob));
  EXPECT_TRUE(std::isnan(t[0].best));
  EXPECT_EQ(t[1].log_prob, -0.5);
  EXPECT_EQ(t[1].best, -0.25);
}

TEST(CompletionAnswer, ChoicesComeInAnyOrder) {
  const CompletionAnswer a =
      parse_answer(R"({"choices": [{"index": 1, "text": "b"}, {"index": 0, "text": "a"}]})",
                   request_for(2, false));
  EXPECT_EQ(a.choices[0].text, "a");
  EXPECT_EQ(a.choices[1].text, "b");
  EXPECT_EQ(a.prompt_tokens, -1) << "no usage";
}

TEST(CompletionAnswer, RoundingAboveZeroIsZero) {
  std::string body = kGood;
  body.replace(body.find("-0.5]"), 4, "1e-7");
  EXPECT_EQ(parse_answer(body, request_for(1, true)).choices[0].tokens[1].log_prob, 0);
}

/// `kGood` with `from` replaced is refused, and the message holds `wanted`.
void expect_refused(const std::string& from, const std::string& to, const std::string& wanted) {
  std::string body = kGood;
  const std::size_t at = body.find(from);
  ASSERT_NE(at, body.npos);
  body.replace(at, from.size(), to);
  const Error e = error_of([&] { parse_answer(body, request_for(1, true)); });
  EXPECT_EQ(e.fault(), Fault::environment);
  EXPECT_NE(e.message().find(wanted), std::string::npos) << e.message();
}

TEST(CompletionAnswer, WhatIsMissingIsNamed) {
  expect_refused("\"choices\"", "\"choice\"", "no list 'choices'");
  expect_refused("\"text\"", "\"message\"", "no 'text'");
  expect_refused("\"logprobs\"", "\"log_probs\"", "no 'logprobs'");
  expect_refused("\"tokens\"", "\"token_texts\"", "no list 'tokens'");
  expect_refused("\"token_logprobs\"", "\"content\": [], \"token_logprobs\"",
                 "can't echo a prompt");
  expect_refused("\"token_logprobs\"", "\"x\"", "no list 'token_logprobs'");
}

TEST(CompletionAnswer, WhatIsWrongIsNamed) {
  expect_refused("[null, -0.5]", "[null]", "2 tokens, but 1 log-probabilities");
  expect_refused("[null, {", "[{", "2 tokens, but 1 top_logprobs");
  expect_refused("-0.5]", "\"-0.5\"]", "token 1 is no number");
  expect_refused("-0.5]", "NaN]", "holds NaN");
  expect_refused("-0.5]", "-Infinity]", "holds Infinity");
  expect_refused("-0.5]", "0.5]", "of token 1 is 0.5");
  expect_refused("\"b\"]", "7]", "token 1 is no text");
  expect_refused("\"index\": 0", "\"index\": 1", "not numbered from 0");
  expect_refused("}}", "", "not JSON");
}

TEST(CompletionAnswer, EveryPromptNeedsOneChoice) {
  const auto refused = [](const char* choices, std::size_t n) {
    return error_of([&] {
             parse_answer(std::string(R"({"choices": )") + choices + "}", request_for(n, false));
           })
        .message();
  };
  EXPECT_NE(refused("[]", 1).find("0 choices for 1 prompt"), std::string::npos);
  EXPECT_NE(refused(R"([{"index": 0, "text": ""}, {"index": 0, "text": ""}])", 2).find("numbered"),
            std::string::npos);
  EXPECT_NE(refused(R"([{"text": ""}, {"text": ""}])", 2).find("numbered"), std::string::npos);
  EXPECT_NE(refused("[1]", 1).find("no JSON object"), std::string::npos);
}

TEST(CompletionAnswer, OtherBodiesAreShown) {
  const Error e = error_of([] { parse_answer("<html>busy</html>", request_for(1, false)); });
  EXPECT_NE(e.message().find("'<html>busy</html>'"), std::string::npos) << e.message();
  EXPECT_NE(
      error_of([] { parse_answer("[]", request_for(1, false)); }).message().find("no JSON object"),
      std::string::npos);
}

}  // namespace
}  // namespace cupel::eval
