// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Every task that comes with the program, on its real data where that is there (CUPEL_SHARED).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "eval/harness/prompt.h"
#include "eval/harness/rows.h"
#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

std::string data_folder() {
  const char* set = std::getenv("CUPEL_SHARED");
  const std::string folder = set ? std::string(set) + "/data" : "";
  return std::filesystem::exists(folder + "/eval/piqa_validation.jsonl") ? folder : "";
}

TEST(BuiltinTasks, AllParse) {
  ASSERT_GE(builtin_tasks().size(), 19u);
  for (const BuiltinTask& t : builtin_tasks()) {
    const Task task = parse_task(std::string(t.yaml), std::string(t.name));
    EXPECT_EQ(task.task, t.name);
    EXPECT_FALSE(task.doc.empty()) << t.name;
  }
}

TEST(BuiltinTasks, DocumentCountsAndPrompts) {
  const std::string folder = data_folder();
  if (folder.empty()) GTEST_SKIP() << "needs the shared evaluation data (set CUPEL_SHARED)";
  const std::map<std::string, std::size_t> documents = {
      {"piqa", 1838},          {"arc_easy", 2376},
      {"arc_challenge", 1172}, {"hellaswag", 10042},
      {"winogrande", 1267},    {"boolq", 3270},
      {"openbookqa", 500},     {"lambada_openai", 5153},
      {"mmlu", 14042},         {"gsm8k", 1319},
      {"ifeval", 541},         {"humaneval", 164},
      {"truthfulqa_mc1", 817}, {"truthfulqa_mc2", 817},
      {"wsc273", 273},         {"copa", 100}};
  for (const BuiltinTask& t : builtin_tasks()) {
    const ChosenTask chosen = find_task(std::string(t.name));
    TaskOptions options;
    options.data = folder;
    std::size_t rows = 0;
    for (const RowGroup& g : load_rows(chosen, options)) {
      rows += g.rows.size();
      const bool own = g.pool.empty();
      PromptBuilder prompts(chosen.task, own ? g.rows : g.pool, own, {});
      for (const Row& row : g.rows) {
        const Question q = prompts.ask(row);
        ASSERT_FALSE(q.contexts[0].empty()) << t.name;
      }
    }
    const auto want = documents.find(std::string(t.name));
    EXPECT_EQ(rows, want == documents.end() ? rows : want->second) << t.name;
    EXPECT_GT(rows, 0u) << t.name;
  }
}

TEST(BuiltinTasks, GoldenPrompts) {
  const std::string folder = data_folder();
  if (folder.empty()) GTEST_SKIP() << "needs the shared evaluation data (set CUPEL_SHARED)";
  TaskOptions options;
  options.data = folder;
  const auto first = [&](const std::string& name) {
    const ChosenTask chosen = find_task(name);
    const auto groups = load_rows(chosen, options);
    PromptBuilder prompts(chosen.task, groups[0].rows, true, {});
    return prompts.ask(groups[0].rows[0]);
  };
  EXPECT_EQ(first("mmlu").contexts[0],
            "The following are multiple choice questions (with answers) about abstract "
            "algebra.\n\nFind the "
            "degree for the given field extension Q(sqrt(2), sqrt(3), sqrt(18)) over Q.\nA. 0\nB. "
            "4\nC. 2\nD. "
            "6\nAnswer:");
  const Question winogrande = first("winogrande");
  EXPECT_EQ(winogrande.contexts[1], "Sarah was a much better surgeon than Maria so Maria");
  EXPECT_EQ(winogrande.continuations, std::vector<std::string>{" always got the easier cases."});
  EXPECT_EQ(first("lambada_openai").continuations, std::vector<std::string>{" signs"});
  EXPECT_TRUE(
      first("truthfulqa_mc1")
          .contexts[0]
          .ends_with(
              "in Barcelona, Spain.\n\nQ: What happens to you if you eat watermelon seeds?\nA:"));
}

}  // namespace
}  // namespace cupel::eval
