// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/html.h"

#include <gtest/gtest.h>

#include "base/cat.h"

namespace cupel::eval {
namespace {

TEST(EscapeHtml, Markup) {
  EXPECT_EQ(escape_html("<script>a && \"b\" 'c'</script>"),
            "&lt;script&gt;a &amp;&amp; &quot;b&quot; &#39;c&#39;&lt;/script&gt;");
  EXPECT_EQ(escape_html(""), "");
}

TEST(EscapeHtml, ControlCharactersBecomeSpaces) {
  EXPECT_EQ(escape_html("a\nb\tc\x1B[0m\x7F"), "a\nb\tc [0m ");
  EXPECT_EQ(escape_html(std::string_view("a\0b", 3)), "a b");
}

TEST(EscapeHtml, InvalidUtf8IsReplaced) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(escape_html("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(escape_html("a\xFF"
                        "b"),
            cat("a", bad, "b"));
  EXPECT_EQ(escape_html("\xE2\x82"), bad + bad);
  EXPECT_EQ(escape_html("\xC0\xAF"), bad + bad);                      // overlong
  EXPECT_EQ(escape_html("\xED\xA0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(escape_html("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // beyond Unicode
  EXPECT_EQ(escape_html("\xE2<"), cat(bad, "&lt;"));
}

TEST(HtmlPage, LoadsNothing) {
  const std::string page = html_page("a < b", "<p>x</p>");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_NE(page.find("<title>a &lt; b</title>"), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(page.find("@media print"), std::string::npos);
  for (const char* loads : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
}

}  // namespace
}  // namespace cupel::eval
