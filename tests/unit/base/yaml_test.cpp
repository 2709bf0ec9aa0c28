// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/yaml.h"

#include "base/file.h"
#include "support.h"

namespace cupel {
namespace {

using test::error_of;

std::string refusal(const std::string& text) {
  const Error e = error_of([&] { Document::from_text(text, "r.yaml"); });
  EXPECT_EQ(e.fault(), Fault::user);
  return e.message();
}

TEST(Yaml, TreeAndPlaces) {
  const Document document =
      Document::from_text("version: 1\nsteps:\n  - quant.rtn: {bits: 3}\n  - b\n", "r");
  const Node root = document.root();
  ASSERT_TRUE(root.is_map());
  ASSERT_EQ(root.entries().size(), 2u);
  EXPECT_EQ(root.entries()[1].first.text(), "steps");
  EXPECT_EQ(root.find("version").text(), "1");
  EXPECT_FALSE(root.find("none"));
  const Node steps = root.find("steps");
  ASSERT_TRUE(steps.is_list());
  ASSERT_EQ(steps.items().size(), 2u);
  const Node bits = steps.items()[0].find("quant.rtn").find("bits");
  EXPECT_EQ(bits.line(), 3);
  EXPECT_EQ(bits.column(), 23);
  EXPECT_EQ(steps.items()[1].column(), 5);
}

TEST(Yaml, Kinds) {
  const Document document =
      Document::from_text("[{}, [], a, 'a', \"5\", , ~, null, !!str 7, 'long\n\n text']", "r");
  std::vector<std::string> kinds;
  for (const Node& item : document.root().items()) kinds.push_back(item.kind());
  EXPECT_EQ(kinds, (std::vector<std::string>{"a mapping", "a list", "'a'", "'a'", "'5'", "nothing",
                                             "nothing", "nothing", "'7'", "'long...'"}));
  EXPECT_FALSE(document.root().items()[2].quoted());
  EXPECT_TRUE(document.root().items()[3].quoted());
  EXPECT_TRUE(document.root().items()[8].quoted());
  EXPECT_EQ(Node().kind(), "nothing");
  EXPECT_TRUE(Node().is_null());
}

TEST(Yaml, RepeatedKeysAreKept) {
  const Document document = Document::from_text("a: 1\na: 2\n", "r");
  ASSERT_EQ(document.root().entries().size(), 2u);
  EXPECT_EQ(document.root().find("a").text(), "1");
}

TEST(Yaml, AliasesShareTheirNode) {
  const Document document = Document::from_text("a: &x {k: 1}\nb: *x\n", "r");
  EXPECT_EQ(document.root().find("b").find("k").text(), "1");
}

TEST(Yaml, EmptyTexts) {
  EXPECT_TRUE(Document::from_text("", "r").root().is_null());
  EXPECT_TRUE(Document::from_text("# nothing\n", "r").root().is_null());
  EXPECT_TRUE(Document::from_text("---\n", "r").root().is_null());
}

TEST(Yaml, ColumnsCountCharacters) {
  const Document document =
      Document::from_text("\xEF\xBB\xBF{\u00e9\u00e9: \u00fc, b: 2}\r\n", "r");
  const Node b = document.root().find("b");
  EXPECT_EQ(b.column(), 12);
  EXPECT_EQ(document.root().find("\u00e9\u00e9").width(), 1);
  EXPECT_EQ(document.format({problem_at(b, "no")}),
            "r:1:12: no\n    {\u00e9\u00e9: \u00fc, b: 2}\n               ^");
}

TEST(Yaml, Widths) {
  const Document document =
      Document::from_text("{a: 'it''s', b: \"x\\\"y\" , c: plain text, d: {e: 1}, f: []}\n", "r");
  const Node root = document.root();
  EXPECT_EQ(root.find("a").width(), 7);
  EXPECT_EQ(root.find("b").width(), 6);
  EXPECT_EQ(root.find("c").width(), 10);
  EXPECT_EQ(root.find("d").width(), 1);
}

TEST(Yaml, FormatSortsAndMergesEqualProblems) {
  const Document document = Document::from_text("a: 1\nb:\t2\n", "r");
  const std::string text = document.format(
      {{2, 4, 1, "second"}, {1, 4, 3, "first"}, {0, 0, 1, "whole"}, {1, 4, 3, "first"}});
  EXPECT_EQ(text,
            "r: whole\nr:1:4: first\n    a: 1\n       ^~~\nr:2:4: second\n    b:\t2\n      \t^");
  EXPECT_EQ(document.format({}), "");
}

TEST(Yaml, SyntaxErrorsShowThePlace) {
  const std::string text = refusal("a: 1\nb: [1, 2\n");
  EXPECT_EQ(text.find("r.yaml:"), 0u) << text;
  EXPECT_NE(text.find("this is not YAML"), std::string::npos) << text;
  EXPECT_EQ(refusal("a: b: c\n"),
            "r.yaml:1:5: this is not YAML: illegal map value\n    a: b: c\n        ^");
}

TEST(Yaml, TextBehindTheDocumentIsRefused) {
  EXPECT_EQ(refusal("- a\nb: 1\n").find("r.yaml:2:1: "), 0u) << refusal("- a\nb: 1\n");
  EXPECT_EQ(refusal("a: 1\n---\nb: 2\n").find("r.yaml:2:1: "), 0u) << refusal("a: 1\n---\nb: 2\n");
}

TEST(Yaml, BadKeysAndCharacters) {
  EXPECT_EQ(refusal("{{x: 1}: 2}"),
            "r.yaml:1:2: a key must be text, not a mapping\n    {{x: 1}: 2}\n     ^");
  EXPECT_NE(refusal("[a]: 2").find("a key must be text, not a list"), std::string::npos);
  EXPECT_EQ(refusal("a: x\x04y\n").find("r.yaml:1:5: a control character (code 4)"), 0u);
  EXPECT_EQ(refusal(std::string("a\0b", 3)).find("r.yaml:1:2: "), 0u);
  EXPECT_NE(refusal("a: &x [*x]\n").find("1:8: "), std::string::npos);
  EXPECT_NE(refusal("a: *y\n").find("r.yaml:1:"), std::string::npos);
}

TEST(Yaml, DeepNestingIsRefused) {
  EXPECT_FALSE(refusal(std::string(100'000, '[')).empty());
}

TEST(Yaml, FromFile) {
  const test::TempFolder folder;
  write_atomic(folder.file("r.yaml"), "a: 1\n");
  const Document document = Document::from_file(folder.file("r.yaml"));
  EXPECT_EQ(document.name(), folder.file("r.yaml"));
  EXPECT_EQ(document.root().find("a").text(), "1");
  EXPECT_EQ(error_of([&] { Document::from_file(folder.file("x")); }).fault(), Fault::user);
}

}  // namespace
}  // namespace cupel
