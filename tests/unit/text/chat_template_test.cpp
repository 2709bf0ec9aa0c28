// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support.h"

namespace cupel::text {
namespace {

constexpr const char* kChatMl =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ "
    "'<|im_start|>system\nBe kind.<|im_end|>\n' }}"
    "{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
    "'\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

TEST(ChatTemplate, RendersConversations) {
  const Template t = Template::parse(kChatMl);
  EXPECT_EQ(render_chat(t, {{"user", "Hi \"é\""}}, true, "", ""),
            "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi "
            "\"é\"<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(render_chat(t, {{"system", "S"}, {"user", "U"}}, false, "", ""),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n");
}

TEST(ChatTemplate, HasTheTokens) {
  const Template t =
      Template::parse("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ pad_token }}");
  EXPECT_EQ(render_chat(t, {{"user", "x"}}, true, "<s>", "</s>"), "<s>x</s>");
}

TEST(ChatTemplate, ARefusalIsTheUsersToMend) {
  const Template t = Template::parse(
      "{% if messages|length > 1 %}{{ raise_exception('one message only') }}{% endif %}");
  const Error e = test::error_of([&] {
    render_chat(t, {{"user", "a"}, {"user", "b"}}, true, "", "");
  });
  EXPECT_EQ(e.fault(), Fault::user);
  EXPECT_NE(e.message().find("one message only"), std::string::npos);
}

TEST(ChatTemplate, TheDateCanBeSet) {
  ::setenv("SOURCE_DATE_EPOCH", "1795952707", 1);
  EXPECT_EQ(Template::parse("{{ strftime_now('%d %b %Y %H:%M:%S') }}").render("{}"),
            "29 Nov 2026 11:45:07");
  ::unsetenv("SOURCE_DATE_EPOCH");
  EXPECT_EQ(Template::parse("{{ strftime_now('%Y')|length }}").render("{}"), "4");
}

TEST(ChatTemplate, RenderingLeavesNoTrace) {
  const Template t = Template::parse(
      "{% set c = cycler(1, 2) %}{{ c.next() }}{% set ns = namespace(a=a) %}{% set ns.a = 5 %}{{ a "
      "}}");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(t.render(R"({"a":4})"), "14");
}

}  // namespace
}  // namespace cupel::text
