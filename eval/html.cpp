// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/html.h"

#include <cstdint>

#include "base/cat.h"
#include "eval/html_style.h"

namespace cupel::eval {

namespace {

/// Bytes of the UTF-8 sequence at the front of `text`, 0 when it is invalid.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const std::size_t n = lead < 0x80   ? 1
                        : lead < 0xC2 ? 0
                        : lead < 0xE0 ? 2
                        : lead < 0xF0 ? 3
                        : lead < 0xF5 ? 4
                                      : 0;
  if (n == 0 || n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates, beyond U+10FFFF.
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
  return n;
}

/// Control characters that HTML has no place for.
bool is_control(char c) {
  return (static_cast<uint8_t>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = sequence_length(text);
    if (n == 0)
      out += "\xEF\xBF\xBD";
    else if (text[0] == '&')
      out += "&amp;";
    else if (text[0] == '<')
      out += "&lt;";
    else if (text[0] == '>')
      out += "&gt;";
    else if (text[0] == '"')
      out += "&quot;";
    else if (text[0] == '\'')
      out += "&#39;";
    else if (is_control(text[0]))
      out += ' ';
    else
      out += text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

std::string html_page(std::string_view title, std::string_view body) {
  return cat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, "
      "initial-scale=1\">\n<title>",
      escape_html(title), "</title>\n<style>", kStyle, "</style></head>\n<body><main>\n", body,
      "\n</main></body></html>\n");
}

}  // namespace cupel::eval
