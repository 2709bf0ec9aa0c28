// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// What a hostile or unknown template gets: an error, never a crash, a hang or a guess.
#include <gtest/gtest.h>

#include <random>

#include "support.h"
#include "text/chat_template.h"

namespace cupel::text {
namespace {

std::string message(const std::string& source) {
  const Error e = test::error_of([&] { Template::parse(source).render("{}"); });
  EXPECT_EQ(e.fault(), Fault::data) << source << ": " << e.what();
  return e.message();
}

std::string repeat(const std::string& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

TEST(JinjaLimits, Depth) {
  EXPECT_NE(
      message("{{ " + repeat("(", 100000) + "1" + repeat(")", 100000) + " }}").find("nest deeper"),
      std::string::npos);
  EXPECT_NE(
      message("{{ " + repeat("[", 100000) + "1" + repeat("]", 100000) + " }}").find("nest deeper"),
      std::string::npos);
  EXPECT_NE(message("{{ " + repeat("not ", 100000) + "1 }}").find("nest deeper"),
            std::string::npos);
  EXPECT_NE(message(repeat("{% if 1 %}", 100000)).find("nest deeper"), std::string::npos);
  EXPECT_NE(message("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").find("RecursionError"),
            std::string::npos);
  EXPECT_NE(message("{% set ns = namespace(v=[]) %}{% for i in range(9999) %}{% set ns.v = [ns.v] "
                    "%}{% endfor %}")
                .find("RecursionError"),
            std::string::npos);
}

TEST(JinjaLimits, LongChains) {
  for (const char* link : {"+1", "|upper", ".a", "(1)", " and 1", " or 1", "[0]", "**1", " if 1"})
    EXPECT_NE(message("{{ 1" + repeat(link, 100000) + " }}").find("operators"), std::string::npos)
        << link;
  EXPECT_EQ(Template::parse("{{ 1" + repeat(" + 1", 150) + " }}").render("{}"), "151");
  EXPECT_EQ(Template::parse("{{ 'a'" + repeat("|upper", 150) + " }}").render("{}"), "A");
}

TEST(JinjaLimits, Time) {
  EXPECT_NE(
      message(
          "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{{ i }}{% endfor %}")
          .find("steps"),
      std::string::npos);
}

TEST(JinjaLimits, WorkOnLargeValuesCounts) {
  const std::string loop = "{% for i in range(99999) %}", big = "{% set s = 'ab' * 999999 %}";
  for (const char* body :
       {"{{ range(99999)|length }}", "{{ 5 in range(99999) }}", "{{ s.find('c') }}", "{{ s == s }}",
        "{{ s[0] }}", "{{ (s ~ 'x')|length }}", "{{ s is lower }}"})
    EXPECT_NE(message(big + loop + body + "{% endfor %}").find("TimeoutError"), std::string::npos)
        << body;
}

TEST(JinjaLimits, LongConversationsAreFine) {
  std::string context = R"({"messages":[)";
  for (int i = 0; i < 5000; ++i)
    context +=
        std::string(i ? "," : "") + R"({"role":"user","content":")" + std::string(500, 'x') + "\"}";
  const std::string source =
      "{% for m in messages %}{% if m['role'] == 'user' and loop.index0 < messages|length and "
      "m.content is string %}"
      "{{ m['content']|trim }}{{ messages[loop.index0 - 1].role }}{% endif %}{% endfor %}";
  EXPECT_EQ(Template::parse(source).render(context + "]}").size(), 5000u * 504);
}

TEST(JinjaLimits, Size) {
  EXPECT_NE(message("{{ 'a' * 999999999999 }}").find("MemoryError"), std::string::npos);
  EXPECT_NE(message("{{ [1] * 999999999999 }}").find("MemoryError"), std::string::npos);
  EXPECT_NE(message("{{ range(1000000) }}").find("OverflowError"), std::string::npos);
  EXPECT_NE(message("{{ 9223372036854775807 + 1 }}").find("OverflowError"), std::string::npos);
  EXPECT_NE(
      message("{% for i in range(9999) %}{{ 'a' * 9999999 }}{% endfor %}").find("MemoryError"),
      std::string::npos);
  EXPECT_NE(message("{% set ns = namespace(v='a') %}{% for i in range(99) %}{% set ns.v = ns.v ~ "
                    "ns.v %}{% endfor %}")
                .find("MemoryError"),
            std::string::npos);
}

TEST(JinjaLimits, UnknownPartsAreNamed) {
  EXPECT_EQ(message("a\n{{ x|nofilter }}"), "template: line 2: filter 'nofilter' is not supported");
  EXPECT_EQ(message("{{ x is notest }}"), "template: line 1: test 'notest' is not supported");
  EXPECT_EQ(message("{% include 'x' %}"), "template: line 1: tag 'include' is not supported");
  EXPECT_NE(message("{{ 'a'.encode() }}").find("method 'encode' of str is not supported"),
            std::string::npos);
  // As in Jinja, under a condition it is an error only once it is reached.
  EXPECT_EQ(
      Template::parse("{% if false %}{{ x|nofilter }}{% endif %}{{ x|nofilter if false else 1 }}")
          .render("{}"),
      "1");
  EXPECT_EQ(message("{% if true %}{{ x|nofilter }}{% endif %}"),
            "template: line 1: TemplateRuntimeError: filter 'nofilter' is not supported");
}

TEST(JinjaLimits, SyntaxErrors) {
  for (const char* bad :
       {"{% if %}{% endif %}", "{% for x in %}{% endfor %}", "{% endif %}", "{% if 1 %}",
        "{{ a b }}", "{{ 'a' is string is string }}", "{% set true = 1 %}", "{{ a..b }}", "{{ | }}",
        "{% break %}", "{% call 5 %}{% endcall %}", "{{ f(a=1, 2) }}",
        "{% macro f(a=1, b) %}{% endmacro %}", "{% for x in y %}{% endif %}"})
    EXPECT_NE(message(bad).find("line 1"), std::string::npos) << bad;
}

TEST(JinjaLimits, DamagedTemplatesNeverCrash) {
  const std::string good =
      "{% macro f(a, b='z') %}[{{ a ~ b }}]{% endmacro %}{% for m in messages if m.role is defined "
      "%}{%- if loop.first -%}"
      "{{ m['content'].split('x')[-1] | trim | tojson(indent=2) }}{% else %}{{ f(m.role, "
      "b=loop.index0 // 2) }}{% endif %}{% endfor %}"
      "{% set ns = namespace(x=1) %}{% set ns.x = -ns.x ** 2 %}{{ ns.x if ns.x > 3 else 'no' }}{# "
      "c #}{% raw %}{{ }}{% endraw %}";
  std::mt19937 random(19);
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    for (std::size_t n = 1 + random() % 4; n > 0; --n)
      bad[random() % bad.size()] = "{}%#-+'\"()[]|.,:~ a1\\"[random() % 21];
    if (random() % 4 == 0) bad.erase(random() % bad.size(), random() % 20);
    try {
      Template::parse(bad).render(
          R"({"messages":[{"role":"user","content":"axb"},{"role":"b","content":"c"}]})");
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::data) << e.what();
    }
  }
}

TEST(JinjaLimits, Contexts) {
  const Template t = Template::parse("{{ a }}");
  EXPECT_EQ(test::error_of([&] { t.render("{"); }).fault(), Fault::data);
  EXPECT_EQ(test::error_of([&] { t.render("[]"); }).fault(), Fault::data);
  EXPECT_EQ(test::error_of([&] {
              t.render(R"({"a":)" + repeat("[", 5000) + repeat("]", 5000) + "}");
            }).fault(),
            Fault::data);
}

}  // namespace
}  // namespace cupel::text
