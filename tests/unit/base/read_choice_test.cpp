// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/yaml.h"
#include "support.h"

namespace cupel {
namespace {

using test::layouts;
using test::Uniform;

std::string read(const std::string& yaml, Choice& choice) {
  const Document document = Document::from_text(yaml, "r");
  std::vector<Problem> problems;
  read_choice(document.root(), choice, problems);
  return problems.empty() ? "" : problems[0].message;
}

TEST(ReadChoice, NameOrMapping) {
  Choice choice(layouts(), "uniform");
  EXPECT_EQ(read("nf4", choice), "");
  EXPECT_EQ(choice.name, "nf4");
  EXPECT_EQ(read("{uniform: {bits: 3}}", choice), "");
  EXPECT_EQ(choice.name, "uniform");
  EXPECT_EQ(choice.as<Uniform>().bits, 3);
  EXPECT_EQ(read("uniform", choice), "");
  EXPECT_EQ(choice.as<Uniform>().bits, 4);
  EXPECT_EQ(read("{uniform: }", choice), "");
  EXPECT_EQ(read("nf4: {}", choice), "");
  EXPECT_EQ(choice.name, "nf4");
}

TEST(ReadChoice, AbsentKeepsTheDefault) {
  Choice choice(layouts(), "nf4");
  EXPECT_EQ(read("", choice), "");
  EXPECT_EQ(choice.name, "nf4");
}

TEST(ReadChoice, CopiesAreNotChanged) {
  Choice choice(layouts(), "uniform");
  const Choice copy = choice;
  EXPECT_EQ(read("{uniform: {bits: 3}}", choice), "");
  EXPECT_EQ(copy.as<Uniform>().bits, 4);
}

TEST(ReadChoice, Mistakes) {
  Choice choice(layouts(), "uniform");
  EXPECT_EQ(read("unifrom", choice),
            "this must be one of uniform, nf4, not 'unifrom'; did you mean 'uniform'?");
  EXPECT_EQ(read("{bits: 3}", choice), "this must be one of uniform, nf4, not 'bits'");
  EXPECT_EQ(read("[uniform]", choice), "this must be one of uniform, nf4, not a list");
  EXPECT_EQ(read("{}", choice), "this must be one of uniform, nf4, not an empty mapping");
  EXPECT_EQ(read("{uniform: {}, nf4: {}}", choice),
            "this takes one of uniform, nf4; 'nf4' is one too many");
  EXPECT_EQ(read("{uniform: {bits: 9}}", choice), "'bits' must lie in [2, 8], not 9");
  EXPECT_EQ(read("{uniform: 3}", choice), "'uniform' must be a mapping, not '3'");
  EXPECT_EQ(read("{nf4: {bits: 3}}", choice), "unknown parameter 'bits' (none is known here)");
}

TEST(ReadChoice, FieldsCarryTheirName) {
  test::Method method;
  EXPECT_EQ(
      test::read("layout: {unifrom: {}}", method),
      "r.yaml:1:10: 'layout' must be one of uniform, nf4, not 'unifrom'; did you mean 'uniform'?\n"
      "    layout: {unifrom: {}}\n"
      "             ^~~~~~~");
}

}  // namespace
}  // namespace cupel
