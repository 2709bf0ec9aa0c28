// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// White-space control: expected texts come from Jinja 3.1.6 with trim_blocks and lstrip_blocks.
#include "text/jinja_lexer.h"

#include <gtest/gtest.h>

#include "support.h"
#include "text/chat_template.h"

namespace cupel::text {
namespace {

std::string render(std::string_view source) {
  return Template::parse(source).render(R"({"n":3})");
}

TEST(JinjaLexer, BlocksTakeTheirNewlineAndIndent) {
  EXPECT_EQ(render("a\n  {% if n %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(render("a\n    {{ n }}\n  {{ n }}b\n"), "a\n    3\n  3b");
  EXPECT_EQ(render("  {# c #}\nx"), "x");
  EXPECT_EQ(render("a {% if n %}b{% endif %} c"), "a b c");
}

TEST(JinjaLexer, SignsOverruleIt) {
  EXPECT_EQ(render("a \n {%- if n -%} \n b {%- endif %}"), "ab");
  EXPECT_EQ(render("a\n  {%+ if n %}b{% endif +%}\nc"), "a\n  b\nc");
  EXPECT_EQ(render("x {{- n -}} y"), "x3y");
  EXPECT_EQ(render("a\n    {#- c -#}\n    b"), "ab");
}

TEST(JinjaLexer, OneNewlineAtTheEndIsDropped) {
  EXPECT_EQ(render("\n\n{{ n }}\n\n"), "\n\n3\n");
  EXPECT_EQ(render("a\r\n{{ n }}\r\n"), "a\n3");
}

TEST(JinjaLexer, RawIsCopied) {
  EXPECT_EQ(render("{% raw %}{{ n }}{% if %}{% endraw %}|"), "{{ n }}{% if %}|");
  EXPECT_EQ(render("{%- raw -%}  y  {%- endraw -%}  z"), "yz");
}

TEST(JinjaLexer, StringsAndNumbers) {
  EXPECT_EQ(render(R"({{ 'a' "b" }}{{ "\x41\u00e9\t|\q" }}{{ '\'' }})"), "abA\u00e9\t|\\q'");
  EXPECT_EQ(render(R"({{ "\ud83d\ude00" }}{{ 1_000 }} {{ 2.5e3 }} {{ [[1,2],3][0][1] }})"),
            "\U0001F6001000 2500.0 2");
  EXPECT_EQ(render("{{ {'a': {'b': 1}}.a.b }}"), "1");
}

TEST(JinjaLexer, ErrorsHaveTheLine) {
  const auto message = [](std::string_view source) {
    const Error e = test::error_of([&] { Template::parse(source); });
    EXPECT_EQ(e.fault(), Fault::data);
    return e.message();
  };
  EXPECT_EQ(message("a\nb {{ 'x }}"), "template: line 2: a string does not end");
  EXPECT_EQ(message("\n\n{{ a ? b }}"), "template: line 3: unexpected character '?'");
  EXPECT_EQ(message("{# a"), "template: line 1: a comment does not end");
  EXPECT_EQ(message("{{ a"), "template: line 1: a tag does not end with '}}'");
  EXPECT_EQ(message("{{ (a] }}"), "template: line 1: unexpected ']'");
  EXPECT_EQ(message("{% raw %}"), "template: line 1: 'raw' does not end");
  EXPECT_EQ(message("\xFF"), "template: the text is not valid UTF-8");
}

}  // namespace
}  // namespace cupel::text
