// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/table.h"

#include "tests/unit/eval/fakes.h"

namespace cupel::eval {
namespace {

TEST(Table, NumbersAlignRightOnATerminal) {
  const Table t{{"name", "size", "KL"}, {{"a", "94.6 MB", "0.5"}, {"longer", "1.50 kB", "-"}}};
  EXPECT_EQ(t.text(),
            "name       size   KL\n"
            "a       94.6 MB  0.5\n"
            "longer  1.50 kB    -\n");
}

TEST(Table, ColumnWithOneTextIsText) {
  const Table t{{"layout", "x"}, {{"3-bit g64", "1"}, {"4", "12"}}};
  EXPECT_EQ(t.text(), "layout      x\n3-bit g64   1\n4          12\n");
}

TEST(Table, WidthCountsCharactersNotBytes) {
  const Table t{{"n", "x"}, {{"\xC3\xA9\xC3\xA9", "b"}, {"abc", "b"}}};
  EXPECT_EQ(t.text(), "n    x\n\xC3\xA9\xC3\xA9   b\nabc  b\n");
}

TEST(Table, Markdown) {
  const Table t{{"a|b", "n"}, {{"x|y|z", "1"}, {"two\nlines", "2"}}};
  EXPECT_EQ(t.markdown(),
            "| a\\|b | n |\n"
            "| --- | ---: |\n"
            "| x\\|y\\|z | 1 |\n"
            "| two lines | 2 |\n");
}

TEST(Table, Html) {
  const Table t{{"<m>", "n"}, {{"a & b", "1"}}};
  EXPECT_EQ(t.html(),
            "<div class=\"scroll\"><table><thead><tr><th>&lt;m&gt;</th><th "
            "class=\"n\">n</th></tr></thead>"
            "<tbody><tr><td>a &amp; b</td><td class=\"n\">1</td></tr></tbody></table></div>");
  EXPECT_TRUE(t.html("facts").starts_with("<div class=\"scroll facts\">"));
}

TEST(Table, EmptyAndRagged) {
  const Table empty{{"a", "b"}, {}};
  EXPECT_EQ(empty.text(), "a  b\n");
  EXPECT_EQ(empty.markdown(), "| a | b |\n| --- | --- |\n");
  const Table ragged{{"a"}, {{"1", "2"}}};
  EXPECT_EQ(test::error_of([&] { ragged.html(); }).fault(), Fault::internal);
}

}  // namespace
}  // namespace cupel::eval
