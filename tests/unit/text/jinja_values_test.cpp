// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The language: expected texts come from Jinja 3.1.6 in Hugging Face's environment.
#include <gtest/gtest.h>

#include "support.h"
#include "text/chat_template.h"

namespace cupel::text {
namespace {

constexpr const char* kContext =
    R"({"n":3,"f":1.0,"x":null,"s":"Héllo World","l":[3,1,2],"d":{"b":2,"a":1},"e":[],
        "m":[{"role":"b","n":2},{"role":"A","n":1},{"role":"a","n":3}],
        "big":123456789012345678901234567890,"odd":{"items":7,"get":1}})";

std::string render(std::string_view source) {
  return Template::parse(source).render(kContext);
}

struct Case {
  const char *source, *text;
};

void check(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    try {
      EXPECT_EQ(render(c.source), c.text) << c.source;
    } catch (const Error& e) {
      ADD_FAILURE() << c.source << ": " << e.what();
    }
  }
}

TEST(JinjaValues, PrintAsInPython) {
  check({{"{{ none }}{{ true }}{{ missing }}|{{ f }} {{ 1e16 }} {{ 1e15 }} {{ 1e-5 }}",
          "NoneTrue|1.0 1e+16 1000000000000000.0 1e-05"},
         {"{{ [1,'a',none,1.0,{'b':(1,)}] }}", "[1, 'a', None, 1.0, {'b': (1,)}]"},
         {"{{ [\"it's\", '\"', 'a\\nb'] }}", "[\"it's\", '\"', 'a\\nb']"},
         {"{{ range(3) }} {{ d.items() }} {{ d.keys() }}",
          "range(0, 3) dict_items([('b', 2), ('a', 1)]) dict_keys(['b', 'a'])"},
         {"{{ big }} {{ [big]|tojson }}",
          "123456789012345678901234567890 [123456789012345678901234567890]"}});
}

// What is joined to a text that `safe` has marked is escaped, though nothing else is.
TEST(JinjaValues, MarkedTextsEscape) {
  check({{"{{ 'a<'|safe + '<' }} {{ '<' + 'b>'|safe }} {{ 'a<'|safe ~ '<' }}", "a<&lt; &lt;b> a<<"},
         {"{{ ('%s %d %s'|safe) % ('\"', 3, '&'|safe) }} {{ '<%s>'|safe|format('&') }}",
          "&#34; 3 & <&amp;>"},
         {"{{ ('%s'|safe) % ['<'] }} {{ ('{} <'|safe).format('<') }}", "[&#39;&lt;&#39;] &lt; <"},
         {"{{ ('<b>'|safe)[1:] + '<' }} {{ ('<a> <b>'|safe).split(' ')[1] + '<' }}",
          "b>&lt; <b>&lt;"},
         {"{{ ('<b>'|safe).replace('b', '&') }} {{ ('<'|safe).join(['>', 1, '&'|safe]) }}",
          "<&amp;> &gt;<1<&"},
         {"{{ '<'|safe|upper|trim + '<' }} {{ '<'|safe|replace('<', '>') + '<' }}", "<&lt; ><"},
         {"{{ '<'|e|e }} {{ '<'|e|forceescape }} {{ ['<'|safe] }}", "&lt; &amp;lt; [Markup('<')]"},
         {"{{ '<'|safe == '<' }} {{ ('<'|safe) is string }} {{ '<'|safe|tojson }}",
          "True True \"<\""},
         {"{% set x %}<{{ '&'|safe }}{% endset %}{{ x + '<' }}", "<&<"}});
}

TEST(JinjaValues, Arithmetic) {
  check({{"{{ 7/2 }} {{ 7//2 }} {{ -7//2 }} {{ -7%3 }} {{ 7%-3 }} {{ 2**3**2 }} {{ -2**2 }}",
          "3.5 3 -4 2 -2 64 4"},
         {"{{ 1 + true }} {{ 'ab'*2 }} {{ [1]+[2] }} {{ 'a' ~ 1 ~ none }}", "2 abab [1, 2] a1None"},
         {"{{ 1 < 2 < 3 }} {{ 1 == 1.0 }} {{ '1' == 1 }} {{ none == missing }} {{ 'a' and 'b' }} "
          "{{ 0 or none }}",
          "True True False False b None"},
         {"{{ 'a' in s }} {{ 3 in l }} {{ 'b' in d }} {{ 'z' not in d }} {{ 'x' in missing }}",
          "False True True True False"}});
}

TEST(JinjaValues, AttributesAndItems) {
  check(
      {{"{{ odd['items'] }} {{ odd['keys'] is defined }} {{ odd.get is callable }}", "7 True True"},
       {"{{ l[-1] }} {{ l[9] is defined }} {{ s[1] }} {{ s[-5:] }} {{ s[::-1] }} {{ l[5:] }}",
        "2 False é World dlroW olléH []"},
       {"{{ none.x is defined }} {{ m[0].role }} {{ m.1.n }} {{ s.__class__ is defined }}",
        "False b 1 False"}});
}

TEST(JinjaValues, Methods) {
  check({{"{{ 'a b  c '.split() }} {{ 'a,b,c'.split(',',1) }} {{ ' a b c '.rsplit(none,1) }}",
          "['a', 'b', 'c'] ['a', 'b,c'] [' a b', 'c']"},
         {"{{ 'xxaxx'.strip('x') }} {{ 'a.b.c'.rpartition('.') }} {{ s.find('W') }} {{ "
          "'abc'.replace('','-') }}",
          "a ('a.b', '.', 'c') 6 -a-b-c-"},
         {"{{ 'ΑΣ'.lower() }} {{ 'ß'.upper() }} {{ \"they're\".title() }} {{ 'ab'.center(5,'*') }}",
          "ας SS They'Re **ab*"},
         {"{{ d.get('z') }} {{ d.get('z', 5) }} {{ l.index(1) }} {{ l.count(3) }}", "None 5 1 1"},
         {"{{ '{:>5}|{:.2f}|{:,}|{!r}|{a}'.format('a', 3.14159, 1234567, 'q', a=1) }}",
          "    a|3.14|1,234,567|'q'|1"},
         {"{{ '%d %05.2f %x %-4s|%(a)s' % {'a': 1} if false else '%d %05.2f %x %-4s|' % (3, 2.5, "
          "255, 'b') }}",
          "3 02.50 ff b   |"}});
}

TEST(JinjaValues, Filters) {
  check({{"{{ m|sort(attribute='role')|map(attribute='n')|list }}", "[1, 3, 2]"},
         {"{% for g in m|groupby('role') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}", "A2b1"},
         {"{{ m|selectattr('n','gt',1)|map(attribute='n')|list }} {{ none|selectattr('n')|list }}",
          "[2, 3] []"},
         {"{{ d|dictsort }} {{ l|unique|list }} {{ l|batch(2)|list }} {{ l|sum }} {{ l|max }}",
          "[('a', 1), ('b', 2)] [3, 1, 2] [[3, 1], [2]] 6 3"},
         {"{{ 2.5|round }} {{ 2.675|round(2) }} {{ '5.7'|int }} {{ 'x'|int(7) }} {{ -3|abs }}",
          "2.0 2.67 5 7 3"},
         {"{{ 'a\nb\n\nc'|indent(2) }}|{{ 'hello-w (x)'|title }}|{{ '<a>'|e }}",
          "a\n  b\n\n  c|Hello-W (X)|&lt;a&gt;"},
         {"{{ x|default('d') }} {{ missing|default('d') }} {{ ''|default('d', true) }}",
          "None d d"}});
}

TEST(JinjaValues, ToJson) {
  check({{"{{ d|tojson }} {{ d|tojson(sort_keys=true) }} {{ d|tojson(separators=(',',':')) }}",
          R"({"b": 2, "a": 1} {"a": 1, "b": 2} {"b":2,"a":1})"},
         {"{{ {'a':[1,{}],'b':[]}|tojson(indent=2) }}",
          "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"},
         {"{{ '</é😀\\x01\"'|tojson }} {{ 'é😀'|tojson(ensure_ascii=true) }}",
          R"("</é😀\u0001\"" "\u00e9\ud83d\ude00")"},
         {"{{ [1e400, 1.0, none, true]|tojson }} {{ {1:2, none:3}|tojson }}",
          R"([Infinity, 1.0, null, true] {"1": 2, "null": 3})"}});
}

TEST(JinjaValues, LoopsAndScopes) {
  check(
      {{"{% for i in l %}{{ loop.index }}{{ loop.first }}{{ loop.revindex0 }}{{ loop.previtem "
        "}};{% endfor %}",
        "1True2;2False13;3False01;"},
       {"{% for i in l if i > 1 %}{{ i }}{{ loop.last }}{% else %}-{% endfor %}{% for i in e %}{% "
        "else %}none{% endfor %}",
        "3False2Truenone"},
       {"{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break "
        "%}{% endif %}{{ i }}{% endfor %}",
        "013"},
       {"{% set v = 1 %}{% for i in l %}{% set v = v + i %}{{ v }}{% endfor %}{{ v }}", "4231"},
       {"{% set ns = namespace(v=0) %}{% for i in l %}{% set ns.v = ns.v + i %}{% endfor %}{{ ns.v "
        "}}",
        "6"},
       {"{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}{% set a, b = 1, 2 %}{{ a }}{{ b }}",
        "b2a112"},
       {"{% for i in [1,[2,[3]]] recursive %}{% if i is iterable %}({{ loop(i) }}){% else %}{{ i "
        "}}{% endif %}{% endfor %}",
        "1(2(3))"},
       {"{% set t | trim %} a {% endset %}[{{ t }}]{% filter upper %}b{% endfilter %}{% with q = 2 "
        "%}{{ q }}{% endwith %}{{ q }}",
        "[a]B2"},
       {"{% generation %}x{{ n }}{% endgeneration %}", "x3"}});
}

TEST(JinjaValues, Macros) {
  check({{"{% macro f(a, b=a) %}[{{ a }}{{ b }}]{% endmacro %}{{ f(1) }}{{ f(b=2, a=1) }}",
          "[11][12]"},
         {"{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, k=3) }}",
          "(1, 2){'k': 3}"},
         {"{% macro f(l) %}{% for i in l %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(i) "
          "f(l) %}<{{ i }}>{% endcall %}",
          "<3><1><2>"},
         {"{% set y = 1 %}{% macro f() %}{{ y }}{% endmacro %}{% for i in [1] %}{% set y = 3 %}{{ "
          "f() }}{% endfor %}{% set y = 2 %}{{ f() }}",
          "12"},
         {"{% macro f(k) %}{{ k }}{% if k %}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
          "3210"}});
}

TEST(JinjaValues, Tests) {
  check({{"{{ n is odd }}{{ n is divisibleby 3 }}{{ 2 is in l }}{{ s is string }}{{ d is mapping "
          "}}{{ n is not none }}",
          "TrueTrueTrueTrueTrueTrue"},
         {"{{ true is integer }}{{ true is number }}{{ f is float }}{{ missing is sequence }}{{ "
          "range is callable }}",
          "FalseTrueTrueTrueTrue"},
         {"{{ 'nope' is filter }}{{ 'upper' is filter }}{{ n is sameas n }}{{ 3 is gt 2 }}",
          "FalseTrueTrueTrue"}});
}

TEST(JinjaValues, RaiseWherePythonRaises) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{ 'a' + 1 }}", "TypeError"},
      {"{{ missing.x }}", "UndefinedError"},
      {"{{ missing + 1 }}", "UndefinedError"},
      {"{{ missing() }}", "UndefinedError"},
      {"{{ l.append(1) }}", "SecurityError"},
      {"{{ d.update({}) }}", "SecurityError"},
      {"{{ s.__class__.x }}", "SecurityError"},
      {"{{ 1/0 }}", "ZeroDivisionError"},
      {"{{ 1 < 'a' }}", "TypeError"},
      {"{{ missing|tojson }}", "TypeError"},
      {"{% for i in 5 %}{% endfor %}", "TypeError"},
      {"{{ none|length }}", "TypeError"},
      {"{% for a,b in [(1,2,3)] %}{% endfor %}", "ValueError"},
      {"{{ {[1]:2} }}", "TypeError"},
      {"{{ '%d' % 'a' }}", "TypeError"}};
  for (const auto& [source, kind] : cases) {
    const Error e = test::error_of([&] { render(source); });
    EXPECT_EQ(e.fault(), Fault::data) << source;
    EXPECT_NE(e.message().find(std::string("line 1: ") + kind), std::string::npos)
        << source << ": " << e.what();
  }
}

}  // namespace
}  // namespace cupel::text
