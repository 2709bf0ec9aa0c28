// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/yaml.h"
#include "support.h"

namespace cupel {
namespace {

using test::Method;
using test::read;

// The message of the only problem of `yaml`, without place and source line.
std::string message_of(const std::string& yaml) {
  Method method;
  const Document document = Document::from_text(yaml, "r.yaml");
  std::vector<Problem> problems;
  read_params(document.root(), method, problems);
  EXPECT_EQ(problems.size(), 1u) << document.format(problems);
  return problems.empty() ? "" : problems[0].message;
}

TEST(ReadParams, EveryKind) {
  Method method;
  EXPECT_EQ(read("bits: 3\ngroup: +64\ndamp: 1e-3\nsym: true\ndtype: 'f32'\ntasks: [a, 5]\n"
                 "scales: [1, .5]\norder: activation\nsource: {samples: 4}\n"
                 "layout: {uniform: {bits: 2}}\nsources: [{file: a}, {file: b}]\n",
                 method),
            "");
  EXPECT_EQ(method.bits, 3);
  EXPECT_EQ(method.group, 64);
  EXPECT_EQ(method.damp, 1e-3);
  EXPECT_TRUE(method.sym);
  EXPECT_EQ(method.dtype, "f32");
  EXPECT_EQ(method.tasks, (std::vector<std::string>{"a", "5"}));
  EXPECT_EQ(method.scales, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(method.order, test::Order::activation);
  EXPECT_EQ(method.source.samples, 4);
  EXPECT_EQ(method.source.file, "x.txt");
  EXPECT_EQ(method.layout.as<test::Uniform>().bits, 2);
  ASSERT_EQ(method.sources.size(), 2u);
  EXPECT_EQ(method.sources[1].file, "b");
}

TEST(ReadParams, NothingKeepsDefaults) {
  const std::string defaults = params_json(Method());
  for (const char* yaml : {"", "~", "{}", "source:\n", "layout:\n"}) {
    Method method;
    EXPECT_EQ(read(yaml, method), "");
    EXPECT_EQ(params_json(method), defaults) << yaml;
  }
  Method method;
  std::vector<Problem> problems;
  read_params(Node(), method, problems);
  EXPECT_TRUE(problems.empty());
}

TEST(ReadParams, AGivenListReplacesTheDefault) {
  Method method;
  method.sources.resize(3);
  EXPECT_EQ(read("sources: [{file: a}]\ntasks: []\n", method), "");
  ASSERT_EQ(method.sources.size(), 1u);
  EXPECT_EQ(method.sources[0].file, "a");
  EXPECT_TRUE(method.tasks.empty());
}

TEST(ReadParams, AllMistakesAtOnceSortedByLine) {
  Method method;
  EXPECT_EQ(read("- x", method), "r.yaml:1:1: this must be a mapping, not a list\n    - x\n    ^");
  EXPECT_EQ(
      read("      bits: 9\n"
           "      dampening: 0.01\n"
           "      sym: yes\n"
           "      order: act\n"
           "      group: 128.0\n"
           "      sym: true\n",
           method),
      "r.yaml:1:13: 'bits' must lie in [2, 8], not 9\n"
      "          bits: 9\n"
      "                ^\n"
      "r.yaml:2:7: unknown parameter 'dampening'; did you mean 'damp'? (known: bits, group, damp, "
      "sym, dtype, tasks, scales, order, source, layout, sources)\n"
      "          dampening: 0.01\n"
      "          ^~~~~~~~~\n"
      "r.yaml:3:12: 'sym' must be true or false, not 'yes'\n"
      "          sym: yes\n"
      "               ^~~\n"
      "r.yaml:4:14: 'order' must be one of natural, activation, not 'act'\n"
      "          order: act\n"
      "                 ^~~\n"
      "r.yaml:5:14: 'group' must be an integer, not '128.0'\n"
      "          group: 128.0\n"
      "                 ^~~~~\n"
      "r.yaml:6:7: repeated key 'sym' (first on line 3)\n"
      "          sym: true\n"
      "          ^~~");
}

TEST(ReadParams, Integers) {
  EXPECT_EQ(message_of("bits: '4'"), "'bits' must be an integer, not the quoted text '4'");
  EXPECT_EQ(message_of("bits: 4x"), "'bits' must be an integer, not '4x'");
  EXPECT_EQ(message_of("bits: 1e3"), "'bits' must be an integer, not '1e3'");
  EXPECT_EQ(message_of("bits: 0x4"), "'bits' must be an integer, not '0x4'");
  EXPECT_EQ(message_of("bits: [4]"), "'bits' must be an integer, not a list");
  EXPECT_EQ(message_of("bits:"), "'bits' must be an integer, not nothing");
  EXPECT_EQ(message_of("bits: 99999999999"),
            "'bits' must be within [-2147483648, 2147483647], not '99999999999'");
  EXPECT_EQ(message_of("bits: -1"), "'bits' must lie in [2, 8], not -1");
  EXPECT_EQ(message_of("source: {samples: 0}"), "'samples' must be at least 1, not 0");
  EXPECT_EQ(message_of("source: {samples: 2000000000000000000}"),
            "'samples' must be at most 1e+18, not 2000000000000000000");
}

TEST(ReadParams, Numbers) {
  EXPECT_EQ(message_of("damp: '0.5'"), "'damp' must be a number, not the quoted text '0.5'");
  EXPECT_EQ(message_of("damp: nan"), "'damp' must be a number, not 'nan'");
  EXPECT_EQ(message_of("damp: .inf"), "'damp' must be a number, not '.inf'");
  EXPECT_EQ(message_of("damp: 1e999"), "'damp' must be a number, not '1e999'");
  EXPECT_EQ(message_of("damp: 1.5"), "'damp' must lie in [0, 1], not 1.5");
  EXPECT_EQ(message_of("scales: [1, x]"), "an element of 'scales' must be a number, not 'x'");
}

TEST(ReadParams, BooleansTextsAndLists) {
  EXPECT_EQ(message_of("sym: 'true'"), "'sym' must be true or false, not the quoted text 'true'");
  EXPECT_EQ(message_of("sym: True"), "'sym' must be true or false, not 'True'");
  EXPECT_EQ(message_of("dtype: {a: 1}"), "'dtype' must be text, not a mapping");
  EXPECT_EQ(message_of("tasks: arc"), "'tasks' must be a list of texts, not 'arc'");
  EXPECT_EQ(message_of("tasks: [[a]]"), "an element of 'tasks' must be text, not a list");
  EXPECT_EQ(message_of("source: x"), "'source' must be a mapping, not 'x'");
  EXPECT_EQ(message_of("sources: {file: x}"),
            "'sources' must be a list of mappings, not a mapping");
  EXPECT_EQ(message_of("sources: [x]"), "an element of 'sources' must be a mapping, not 'x'");
  EXPECT_EQ(message_of("source: {fle: x}"),
            "unknown parameter 'fle'; did you mean 'file'? (known: file, samples)");
}

TEST(ReadParams, ChecksPointToTheMapping) {
  Method method;
  EXPECT_EQ(read("{group: 12}", method),
            "r.yaml:1:1: group must be a multiple of 8\n    {group: 12}\n    ^");
}

TEST(ReadParams, ChecksWaitForCorrectValues) {
  EXPECT_EQ(message_of("group: 12\nbits: 9"), "'bits' must lie in [2, 8], not 9");
}

struct Required : Params {
  struct Model : Params {
    std::string path;
    void visit(ParamVisitor& v) override {
      v.field("path", path, "");
      v.check(!path.empty(), "a model needs a 'path'");
    }
  } model;
  void visit(ParamVisitor& v) override { v.field("model", model, ""); }
};

TEST(ReadParams, AbsentMappingsAreCheckedToo) {
  Required required;
  EXPECT_EQ(read("{}", required), "r.yaml:1:1: a model needs a 'path'\n    {}\n    ^");
  EXPECT_EQ(read("model:\n", required),
            "r.yaml:1:1: a model needs a 'path'\n    model:\n    ^~~~~");
  EXPECT_EQ(read("", required), "r.yaml: a model needs a 'path'");
}

}  // namespace
}  // namespace cupel
