// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/prompt.h"

#include <gtest/gtest.h>

#include "tests/unit/eval/fakes.h"
#include "text/jinja_library.h"

namespace cupel::eval {
namespace {

using test::error_of;

Row row(const char* json) {
  return text::jinja::from_json(json);
}

Task task(const std::string& more) {
  return parse_task("task: t\ntest_data: d\nmetric_list: [acc]\n" + more, "t.yaml");
}

const std::string kChoice =
    "doc_to_text: \"Q: {{q}}\\nA:\"\ndoc_to_choice: [c]\ndoc_to_target: gold\n";

TEST(Prompt, QuestionAndChoices) {
  const Task t = task(kChoice + "description: \"D\\n\\n\"\n");
  const std::vector<Row> rows = {row(R"({"q":"why","c":["x","y z"],"gold":1})")};
  PromptBuilder builder(t, rows, true, {});
  const Question q = builder.ask(rows[0]);
  EXPECT_EQ(q.contexts, std::vector<std::string>{"D\n\nQ: why\nA:"});
  EXPECT_EQ(q.continuations, (std::vector<std::string>{" x", " y z"}));
  EXPECT_EQ(q.choices, (std::vector<std::string>{"x", "y z"}));
  EXPECT_EQ(q.gold, 1);
}

TEST(Prompt, GoldByText) {
  const Task t = task("doc_to_text: q\ndoc_to_choice: [\"A\", \"B\"]\ndoc_to_target: gold\n");
  const std::vector<Row> rows = {row(R"({"q":"why","gold":"B"})"), row(R"({"q":"why","gold":"C"})"),
                                 row(R"({"q":"why","gold":2})")};
  PromptBuilder builder(t, rows, true, {});
  EXPECT_EQ(builder.ask(rows[0]).gold, 1);
  EXPECT_EQ(error_of([&] { builder.ask(rows[1]); }).fault(), Fault::data);
  EXPECT_EQ(error_of([&] { builder.ask(rows[2]); }).fault(), Fault::data);
}

TEST(Prompt, ShotsFollowPythonsDraws) {
  // random.Random(1234).sample(range(5), 2) twice gives [3, 0] and [0, 4] (CPython 3.11).
  const Task t = task(kChoice + "num_fewshot: 2\n");
  std::vector<Row> pool;
  for (int i = 0; i < 5; ++i)
    pool.push_back(row(cat("{\"q\":\"", i, "\",\"c\":[\"a", i, "\"],\"gold\":0}").c_str()));
  const Row asked = row(R"({"q":"now","c":["x"],"gold":0})");
  PromptBuilder builder(t, pool, false, {});
  EXPECT_EQ(builder.ask(asked).contexts[0], "Q: 3\nA: a3\n\nQ: 0\nA: a0\n\nQ: now\nA:");
  EXPECT_EQ(builder.ask(asked).contexts[0], "Q: 0\nA: a0\n\nQ: 4\nA: a4\n\nQ: now\nA:");
}

TEST(Prompt, ARowIsNeverItsOwnShot) {
  const Task t = task(kChoice + "num_fewshot: 2\nfewshot_sampler: first_n\n");
  std::vector<Row> rows;
  for (int i = 0; i < 3; ++i)
    rows.push_back(row(cat("{\"q\":\"", i, "\",\"c\":[\"a\"],\"gold\":0}").c_str()));
  PromptBuilder builder(t, rows, true, {});
  EXPECT_EQ(builder.ask(rows[0]).contexts[0], "Q: 1\nA: a\n\nQ: 2\nA: a\n\nQ: 0\nA:");
  EXPECT_EQ(builder.ask(rows[2]).contexts[0], "Q: 0\nA: a\n\nQ: 1\nA: a\n\nQ: 2\nA:");
  EXPECT_EQ(error_of([&] { PromptBuilder(t, rows, true, {.num_fewshot = 3}); }).fault(),
            Fault::user);
}

TEST(Prompt, SharedAnswerUnderSeveralContexts) {
  const Task t = task(
      "doc_to_context: [o]\ndoc_to_continuation: rest\ndoc_to_target: gold\nnum_fewshot: 1\n"
      "fewshot_sampler: first_n\n");
  const std::vector<Row> rows = {row(R"({"o":["He","She"],"rest":"ran.","gold":1})"),
                                 row(R"({"o":["It","They"],"rest":"sat.","gold":0})")};
  PromptBuilder builder(t, rows, true, {});
  const Question q = builder.ask(rows[1]);
  EXPECT_EQ(q.contexts, (std::vector<std::string>{"She ran.\n\nIt", "She ran.\n\nThey"}));
  EXPECT_EQ(q.continuations, std::vector<std::string>{" sat."});
}

TEST(Prompt, ConversationsTakeTheDelimiter) {
  const text::Template chat = text::Template::parse(
      "{% for m in messages %}<{{m.role}}>{{m.content}}{% endfor %}{% if add_generation_prompt "
      "%}<assistant>{% endif %}");
  const Task t = task(kChoice + "description: \"D. \"\nnum_fewshot: 1\nfewshot_sampler: first_n\n");
  const std::vector<Row> rows = {row(R"({"q":"a","c":["x"],"gold":0})"),
                                 row(R"({"q":"b","c":["y"],"gold":0})")};
  PromptOptions options{.chat = &chat, .system = "S"};
  PromptBuilder folded(t, rows, true, options);
  const Question q = folded.ask(rows[1]);
  EXPECT_EQ(q.contexts[0], "<system>S\n\nD. <user>Q: a\nA: x\n\nQ: b\nA:<assistant>");
  EXPECT_EQ(q.continuations[0], "y");
  options.fewshot_as_multiturn = true;
  PromptBuilder turns(t, rows, true, options);
  EXPECT_EQ(turns.ask(rows[1]).contexts[0],
            "<system>S\n\nD. <user>Q: a\nA:<assistant>x<user>Q: b\nA:<assistant>");
}

}  // namespace
}  // namespace cupel::eval
