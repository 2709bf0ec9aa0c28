// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/run_task.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nlohmann/json.hpp"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::FakeScorer;
using test::LetterTokenizer;

/// Writes a fixed reply, and remembers what it was asked.
class FakeGenerator : public text::Generator {
 public:
  std::string reply;
  std::vector<Tokens> prompts;
  text::GenerateOptions last;
  text::Generation generate(std::span<const text::Token> prompt,
                            const text::GenerateOptions& options,
                            const std::function<bool(std::string_view)>&) override {
    prompts.emplace_back(prompt.begin(), prompt.end());
    last = options;
    text::Generation out;
    out.text = reply;
    return out;
  }
};

class RunTask : public ::testing::Test {
 protected:
  RunTask() : folder_(fs::temp_directory_path() / "cupel-run-task"), scorer_(test::repeater(4)) {
    fs::create_directories(folder_);
    options_.data = folder_.string();
  }
  ~RunTask() override { fs::remove_all(folder_); }
  void data(const char* text) { std::ofstream(folder_ / "d.jsonl") << text; }
  TaskResult run(const std::string& yaml, const std::string& group = "") {
    const auto model = likelihood_of(scorer_);
    return run_task({parse_task("task: t\ntest_data: d.jsonl\n" + yaml, "t.yaml"), group},
                    {model.get(), &generator_, &tokenizer_, scorer_.max_length()}, options_);
  }

  fs::path folder_;
  FakeScorer scorer_;
  LetterTokenizer tokenizer_;
  FakeGenerator generator_;
  TaskOptions options_;
};

const std::string kChoice =
    "doc_to_text: q\ndoc_to_choice: [c]\ndoc_to_target: g\ntarget_delimiter: \"\"\nmetric_list: "
    "[acc, acc_norm]\n";

TEST_F(RunTask, MultipleChoice) {
  // The repeater goes on with the last letter.
  data("{\"q\":\"xa\",\"c\":[\"b\",\"a\"],\"g\":1}\n{\"q\":\"xa\",\"c\":[\"b\",\"a\"],\"g\":0}\n");
  const TaskResult r = run(kChoice);
  EXPECT_EQ(r.documents, 2);
  ASSERT_EQ(r.metrics.size(), 2u);
  EXPECT_EQ(r.metrics[0].name, "acc");
  EXPECT_DOUBLE_EQ(r.metrics[0].value.value, 0.5);
  EXPECT_EQ(r.samples[1].scores, (std::vector<double>{0, 0}));
  EXPECT_EQ(r.samples[0].requests[1].continuation, Tokens{0});
  const auto line = nlohmann::json::parse(samples_jsonl(r).substr(0, samples_jsonl(r).find('\n')));
  EXPECT_EQ(line["target"], "1");
  EXPECT_EQ(line["context_ids"][0], (std::vector<int>{23, 0}));
  EXPECT_EQ(line["greedy"], (std::vector<bool>{false, true}));
}

TEST_F(RunTask, LimitTakesTheFirstRowsOrAShare) {
  std::string rows;
  for (int i = 0; i < 5; ++i) rows += "{\"q\":\"xa\",\"c\":[\"b\",\"a\"],\"g\":1}\n";
  data(rows.c_str());
  options_.limit = 3;
  EXPECT_EQ(run(kChoice).documents, 3);
  options_.limit = 0.5;
  EXPECT_EQ(run(kChoice).documents, 3);  // rounded up
  options_.limit = 99;
  EXPECT_EQ(run(kChoice).documents, 5);
}

TEST_F(RunTask, GroupsAreTasksOfTheirOwn) {
  data(
      "{\"s\":\"u\",\"q\":\"xa\",\"c\":[\"b\",\"a\"],\"g\":1}\n{\"s\":\"v\",\"q\":\"xa\",\"c\":["
      "\"b\",\"a\"],\"g\":0}\n"
      "{\"s\":\"u\",\"q\":\"xb\",\"c\":[\"b\",\"a\"],\"g\":0}\n{\"s\":\"v\",\"q\":\"xa\",\"c\":["
      "\"b\",\"a\"],\"g\":1}\n");
  const TaskResult r = run(kChoice + "group_by: s\n");
  ASSERT_EQ(r.groups.size(), 2u);
  EXPECT_EQ(r.groups[0].task, "u");
  EXPECT_DOUBLE_EQ(r.groups[0].metrics[0].value.value, 1);
  EXPECT_DOUBLE_EQ(r.groups[1].metrics[0].value.value, 0.5);
  EXPECT_DOUBLE_EQ(r.metrics[0].value.value, 0.75);
  EXPECT_EQ(run(kChoice + "group_by: s\n", "v").documents, 2);
  EXPECT_EQ(error_of([&] { run(kChoice + "group_by: s\n", "w"); }).fault(), Fault::user);
}

TEST_F(RunTask, OneWantedText) {
  data("{\"t\":\"xa aa\"}\n");
  const TaskResult r =
      run("output_type: loglikelihood\ndoc_to_text: \"{{t.split(' ')[0]}}\"\n"
          "doc_to_target: \"{{t.split(' ')[1]}}\"\nmetric_list: [perplexity, acc]\n");
  EXPECT_NEAR(r.metrics[0].value.value, std::exp(-r.samples[0].log_probs[0]), 1e-12);
  EXPECT_EQ(r.metrics[1].value.value, 1);
}

TEST_F(RunTask, GenerationsAreFilteredAndMatched) {
  data("{\"q\":\"abc\",\"a\":\"so #### 1,234\"}\n");
  generator_.reply = " first 12 then 1234. #### 7";
  const TaskResult r = run(
      "output_type: generate_until\ndoc_to_text: q\ndoc_to_target: a\nmetric_list: [exact_match]\n"
      "generation_kwargs: {until: [\"Question:\"], max_gen_toks: 9}\n"
      "filter_list:\n  - {name: strict, filter: [{function: regex, regex_pattern: '#### "
      "(\\-?[0-9\\.\\,]+)'}]}\n"
      "  - {name: flexible, filter: [{function: regex, group_select: 0, regex_pattern: "
      "'[0-9]{3,}'}]}\n"
      "match: {regexes_to_ignore: [\",\", \"(?s).*#### \"]}\n");
  ASSERT_EQ(r.metrics.size(), 2u);
  EXPECT_EQ(r.metrics[0].name, "exact_match,strict");
  EXPECT_EQ(r.metrics[0].value.value, 0);
  EXPECT_EQ(r.metrics[1].value.value, 1);
  EXPECT_EQ(generator_.last.stop, std::vector<std::string>{"Question:"});
  EXPECT_EQ(generator_.last.sampling.temperature, 0);
  EXPECT_EQ(generator_.last.max_tokens, 9);
}

TEST_F(RunTask, LongPromptsKeepTheirEnd) {
  data("{\"q\":\"abcdefgh\",\"a\":\"x\"}\n");
  scorer_.longest = 8;
  run("output_type: generate_until\ndoc_to_text: q\ndoc_to_target: a\nmetric_list: [exact_match]\n"
      "generation_kwargs: {max_gen_toks: 5}\n");
  EXPECT_EQ(generator_.prompts[0], (Tokens{5, 6, 7}));
  EXPECT_EQ(error_of([&] {
              run("output_type: generate_until\ndoc_to_text: q\ndoc_to_target: a\nmetric_list: "
                  "[exact_match]\n"
                  "generation_kwargs: {max_gen_toks: 8}\n");
            }).fault(),
            Fault::user);
}

TEST_F(RunTask, MistakesAreNamed) {
  data("{\"q\":\"xa\",\"c\":[\"b\",\"a\"],\"g\":1}\n{\"q\":\"xa\",\"c\":[\"b\",\"a\"]}\n");
  const Error row = error_of([&] { run(kChoice); });
  EXPECT_EQ(row.fault(), Fault::data);
  EXPECT_NE(std::string(row.what()).find("row 1"), std::string::npos) << row.what();
  EXPECT_NE(row.message().find("'g'"), std::string::npos);
  const Error metric = error_of([&] {
    run("doc_to_text: q\ndoc_to_choice: [c]\ndoc_to_target: g\nmetric_list: [accuracy]\n");
  });
  EXPECT_NE(metric.message().find("accuracy"), std::string::npos);
  options_.data = "/nowhere";
  EXPECT_EQ(error_of([&] { run(kChoice); }).fault(), Fault::user);
}

}  // namespace
}  // namespace cupel::eval
