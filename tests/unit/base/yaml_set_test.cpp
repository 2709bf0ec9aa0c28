// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/yaml.h"
#include "support.h"

namespace cupel {
namespace {

Document recipe() {
  return Document::from_text(
      "seed: 17\n"
      "empty:\n"
      "steps:\n"
      "  - quant.gptq: {layout: {uniform: {bits: 3}}, mode: fast}\n"
      "  - quant.rtn:\n"
      "  - quant: {gptq: 1}\n",
      "r.yaml");
}

std::string refusal(std::string_view path, std::string_view value) {
  Document document = recipe();
  const Error e = test::error_of([&] { document.set(path, value); });
  EXPECT_EQ(e.fault(), Fault::user);
  return e.message();
}

Node step(const Document& document, std::size_t i) {
  return document.root().find("steps").items()[i];
}

TEST(YamlSet, ReplacesScalars) {
  Document document = recipe();
  document.set("seed", "18");
  document.set("steps.0.quant.gptq.layout.uniform.bits", "4");
  EXPECT_EQ(document.root().find("seed").text(), "18");
  const Node gptq = step(document, 0).find("quant.gptq");
  EXPECT_EQ(gptq.find("layout").find("uniform").find("bits").text(), "4");
  EXPECT_EQ(gptq.find("mode").text(), "fast");
  ASSERT_EQ(document.root().entries().size(), 3u);
}

TEST(YamlSet, AddsTheLastKey) {
  Document document = recipe();
  document.set("version", "1");
  document.set("empty.a", "2");
  document.set("steps.1.quant.rtn.bits", "8");
  EXPECT_EQ(document.root().find("version").text(), "1");
  EXPECT_EQ(document.root().find("empty").find("a").text(), "2");
  EXPECT_EQ(step(document, 1).find("quant.rtn").find("bits").text(), "8");
  Document nothing = Document::from_text("", "r");
  nothing.set("a", "1");
  EXPECT_EQ(nothing.root().find("a").text(), "1");
}

TEST(YamlSet, KeysWithDotsAreMatchedWholeFirst) {
  Document document = recipe();
  document.set("steps.2.quant.gptq", "2");
  EXPECT_EQ(step(document, 2).find("quant").find("gptq").text(), "2");
  Document both = Document::from_text("{a: {b: 1}, a.b: 2}", "r");
  both.set("a.b", "3");
  EXPECT_EQ(both.root().find("a.b").text(), "3");
  EXPECT_EQ(both.root().find("a").find("b").text(), "1");
}

TEST(YamlSet, ValuesAreYaml) {
  Document document = recipe();
  document.set("steps.0", "{prune.depth: {remove: 2}}");
  EXPECT_EQ(step(document, 0).find("prune.depth").find("remove").text(), "2");
  document.set("seed", "'5'");
  EXPECT_TRUE(document.root().find("seed").quoted());
  document.set("seed", "");
  EXPECT_TRUE(document.root().find("seed").is_null());
}

TEST(YamlSet, ABareNameMayGetParameters) {
  Document document = recipe();
  document.set("steps.0.quant.gptq.mode.fast.level", "2");
  EXPECT_EQ(step(document, 0).find("quant.gptq").find("mode").find("fast").find("level").text(),
            "2");
}

TEST(YamlSet, AliasesChangeOnlyWhereTheyAreNamed) {
  Document document = Document::from_text("a: &x {k: 1}\nb: *x\n", "r");
  document.set("b.k", "2");
  EXPECT_EQ(document.root().find("a").find("k").text(), "1");
  EXPECT_EQ(document.root().find("b").find("k").text(), "2");
}

TEST(YamlSet, UnknownPathsAreNamed) {
  EXPECT_EQ(refusal("steps.0.quant.gptp.bits", "1"),
            "--set: 'steps.0' has no 'quant'; did you mean 'quant.gptq'? (known: quant.gptq)\n"
            "    steps.0.quant.gptp.bits=1\n"
            "            ^~~~~");
  EXPECT_EQ(refusal("steps.7.x", "1"),
            "--set: 'steps' is a list of 3 (counted from 0), it has no element '7'\n"
            "    steps.7.x=1\n"
            "          ^");
  EXPECT_EQ(refusal("seed.x", "1"),
            "--set: 'seed' is '17', it has no 'x'\n    seed.x=1\n         ^");
  EXPECT_EQ(refusal("sed.x", "1").find("--set: the document has no 'sed'; did you mean 'seed'?"),
            0u);
  EXPECT_EQ(refusal("", "1").find("--set: an empty name"), 0u);
  EXPECT_EQ(refusal("empty.", "1").find("--set: an empty name"), 0u);
}

TEST(YamlSet, BadValuesShowThePlace) {
  EXPECT_EQ(refusal("seed", "[1").find("--set: this is not YAML"), 0u);
}

TEST(YamlSet, ProblemsPointToTheOption) {
  Document document = Document::from_text("bits: 4\n", "r.yaml");
  document.set("bits", "nine");
  document.set("grop", "64");
  test::Uniform params;
  std::vector<Problem> problems;
  read_params(document.root(), params, problems);
  EXPECT_EQ(document.format(problems),
            "--set: 'bits' must be an integer, not 'nine'\n"
            "    bits=nine\n"
            "         ^~~~\n"
            "--set: unknown parameter 'grop'; did you mean 'group'? (known: bits, group)\n"
            "    grop=64\n"
            "    ^~~~");
}

}  // namespace
}  // namespace cupel
