// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/result.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/eval/example.h"

namespace cupel::eval {
namespace {

using nlohmann::json;

std::vector<std::string> keys(const json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}
using Keys = std::vector<std::string>;  // sorted, as json keeps them

TEST(ResultJson, KeysThatScriptsRelyOn) {
  const json out = json::parse(to_json(test::example_result("m.cupel", 1, true)));
  EXPECT_EQ(keys(out), (Keys{"bits_per_weight", "bits_per_weight_matrices", "bytes",
                             "decode_tokens_per_second", "divergence", "engine", "model",
                             "parameters", "perplexity", "prompt_tokens_per_second"}));
  ASSERT_EQ(out["perplexity"].size(), 1u);
  EXPECT_EQ(keys(out["perplexity"][0]),
            (Keys{"block_list", "block_nll", "blocks", "file", "length", "prepended", "protocol",
                  "stderr", "stderr_over", "text", "tokens", "value"}));
  EXPECT_EQ(out["perplexity"][0]["stderr"], 1.25);
  EXPECT_EQ(out["perplexity"][0]["block_list"][1],
            (json{{"document", 0}, {"first", 1024}, {"count", 1023}, {"nll", 3.1}}));
  EXPECT_EQ(keys(out["divergence"]), (Keys{"against",
                                           "by_class",
                                           "by_position",
                                           "delta_p_max",
                                           "delta_p_mean",
                                           "delta_p_min",
                                           "delta_p_percentiles",
                                           "delta_p_rms",
                                           "delta_p_rms_stderr",
                                           "delta_p_stderr",
                                           "kl_is_lower_bound",
                                           "kl_max",
                                           "kl_mean",
                                           "kl_median",
                                           "kl_min",
                                           "kl_over",
                                           "kl_p90",
                                           "kl_p99",
                                           "kl_percentiles",
                                           "kl_reverse_mean",
                                           "kl_reverse_stderr",
                                           "kl_stderr",
                                           "perplexity",
                                           "same_top1",
                                           "same_top1_stderr",
                                           "tokens"}));
  EXPECT_TRUE(out["divergence"]["kl_percentiles"].contains("99.9"));
  EXPECT_EQ(out["divergence"]["by_position"][1]["to"], 3);
  EXPECT_EQ(out["divergence"]["by_class"][0]["class"], "digits");
  EXPECT_EQ(out["model"], "m.cupel");
  EXPECT_EQ(out["perplexity"][0]["protocol"], "gptq");
  EXPECT_EQ(out["perplexity"][0]["value"], 20.9625);
  EXPECT_EQ(out["perplexity"][0]["block_nll"].size(), 2u);
}

TEST(ResultJson, WordsHaveTheirBytes) {
  EvalResult r = test::example_result("m", 1, false);
  r.texts[0].perplexity.list.protocol = Protocol::words;
  const json out = json::parse(to_json(r));
  EXPECT_FALSE(out.contains("divergence"));
  EXPECT_TRUE(out["perplexity"][0].contains("byte_perplexity"));
  EXPECT_TRUE(out["perplexity"][0].contains("bits_per_byte"));
  EXPECT_EQ(out["perplexity"][0]["rolling_bos"], "once");
}

TEST(ResultJson, WhatIsUnknownIsNullAndADash) {
  EvalResult r = test::example_result("m", 1, true);
  r.texts[0].perplexity.error.reset();
  r.texts[0].divergence->kl_error.reset();
  const json out = json::parse(to_json(r));
  EXPECT_TRUE(out["perplexity"][0]["stderr"].is_null());
  EXPECT_TRUE(out["divergence"]["kl_stderr"].is_null());
  EXPECT_NE(markdown_table({r}).find("| 20.9625 | - | 0.071300 | - |"), std::string::npos);
  r.texts[0].divergence->kept_tokens = 256;
  EXPECT_NE(markdown_table({r}).find("| >=0.071300 |"), std::string::npos);
  EXPECT_EQ(json::parse(to_json(r))["divergence"]["kl_is_lower_bound"], true);
}

TEST(ResultJson, DivergencesOfSeveralTextsAreAList) {
  for (std::size_t texts = 2; texts <= 3; ++texts) {
    const json out = json::parse(to_json(test::example_result("m", texts, true)));
    ASSERT_TRUE(out["divergence"].is_array());
    EXPECT_EQ(out["divergence"].size(), texts);
    EXPECT_EQ(out["divergence"][texts - 1]["against"], "original");
    EXPECT_EQ(out["perplexity"].size(), texts);
  }
}

TEST(ResultJson, OneLineOnDemandAndAnyBytesInAPath) {
  const std::string text = to_json(test::example_result("caf\xE9", 1, false), -1);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(text)["model"], "caf\xEF\xBF\xBD");
  EXPECT_TRUE(json::parse(to_json({}))["perplexity"].is_array());
}

TEST(ResultTables, OneRowAModel) {
  const std::vector<EvalResult> results = {
      test::example_result("original", 1, false), test::example_result("small", 1, true), {}};
  const std::string text = text_table(results);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_NE(text.find("20.9625"), std::string::npos);
  EXPECT_NE(text.find("0.071300"), std::string::npos);
  const std::string markdown = markdown_table(results);
  EXPECT_EQ(std::count(markdown.begin(), markdown.end(), '\n'), 5);
  EXPECT_TRUE(markdown.starts_with("| model | engine | size |"));
}

}  // namespace
}  // namespace cupel::eval
