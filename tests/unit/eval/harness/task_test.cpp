// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/harness/task.h"

#include <gtest/gtest.h>

#include "eval/harness/template.h"
#include "tests/unit/eval/fakes.h"
#include "text/jinja_library.h"

namespace cupel::eval {
namespace {

using test::error_of;

TEST(TaskFile, EveryMistakeIsShownWithItsLine) {
  const Error e = error_of([] {
    parse_task(
        "task: x\ntest_data: d.jsonl\ndoc_to_txt: q\nnum_fewshot: many\noutput_type: ranking\n",
        "x.yaml");
  });
  EXPECT_EQ(e.fault(), Fault::user);
  for (const char* part :
       {"x.yaml:3", "did you mean 'doc_to_text'", "x.yaml:4", "x.yaml:5", "multiple_choice"})
    EXPECT_NE(e.message().find(part), std::string::npos) << part << "\n" << e.message();
}

TEST(TaskFile, WhatIsMissingIsNamed) {
  const Error e = error_of([] { parse_task("task: x\n", "x.yaml"); });
  for (const char* part : {"test_data", "metric_list", "doc_to_text", "doc_to_choice"})
    EXPECT_NE(e.message().find(part), std::string::npos) << part;
}

TEST(TaskFile, StopTextsMustBeAList) {
  // lm-eval's bug 699: a string taken for a list stopped at each of its characters.
  const Error e = error_of([] {
    parse_task(
        "task: x\ntest_data: d\ndoc_to_text: q\nmetric_list: [exact_match]\noutput_type: "
        "generate_until\ngeneration_kwargs: {until: \"Question:\"}\n",
        "x.yaml");
  });
  EXPECT_NE(e.message().find("until"), std::string::npos) << e.message();
}

TEST(TaskFile, NamesAndGroups) {
  EXPECT_EQ(find_task("mmlu_anatomy").group, "anatomy");
  EXPECT_EQ(find_task("mmlu").group, "");
  EXPECT_EQ(find_task("arc_easy").task.task, "arc_easy");
  const Error e = error_of([] { find_task("arc_esay"); });
  EXPECT_NE(e.message().find("did you mean 'arc_easy'"), std::string::npos) << e.message();
  EXPECT_EQ(error_of([] { find_task("/nowhere/x.yaml"); }).fault(), Fault::user);
}

TEST(TaskField, ColumnsAreTakenAndTemplatesRendered) {
  const Row row = text::jinja::from_json(R"({"n": 3, "t": " a\n", "c": {"text": ["x", "y"]}})");
  EXPECT_EQ(Field("n").value(row).as_integer(), 3);
  EXPECT_EQ(Field("{{ n }}").value(row).as_integer(), 3);
  EXPECT_EQ(Field("c.text").list(row), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(Field("{{c.text}}").list(row), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(Field("{{[n, t]|tojson}}").list(row), (std::vector<std::string>{"3", " a\n"}));
  EXPECT_EQ(Field("{{t}}\n").text(row), " a\n\n");  // the last newline stays
  EXPECT_EQ(Field("{% if n %}\n  yes\n{% endif %}").text(row), "\n  yes\n");
  EXPECT_EQ(Field("A", Field::Word::literal).text(row), "A");
}

TEST(TaskField, WhatARowLacksIsAnError) {
  const Row row = text::jinja::from_json(R"({"question": "q"})");
  for (const char* source : {"qestion", "{{qestion}}", "Q: {{qestion}}", "question.text"}) {
    const Error e = error_of([&] { Field(source).text(row); });
    EXPECT_EQ(e.fault(), Fault::data) << source;
  }
  EXPECT_EQ(error_of([&] { Field("question").list(row); }).fault(), Fault::data);
}

}  // namespace
}  // namespace cupel::eval
