// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/html.h"

#include <cstdint>

#include "base/cat.h"

namespace cupel::eval {

namespace {

/// Bytes of the UTF-8 sequence at the front of `text`, 0 when it is invalid.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const std::size_t n = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
  if (n == 0 || n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) return 0;
  return n;
}

constexpr const char* kStyle = R"css(
:root{--bg:#fdfdfb;--ink:#1d2327;--soft:#5d676e;--line:#dcdfda;--box:#f4f4ef;--warn:#8a4b00;--c0:#0b66a8;--c1:#c8540a;--c2:#08805f;--c3:#8f4a86;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--bg:#14181b;--ink:#e5e8e6;--soft:#9aa5ab;--line:#313a40;--box:#1c2226;--warn:#e8a552;--c0:#62aee6;--c1:#f0935a;--c2:#4fc09f;--c3:#d493cb}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
main{max-width:64rem;margin:0 auto;padding:2rem 1.25rem 4rem}
header{border-bottom:3px solid var(--ink);padding-bottom:1rem;margin-bottom:1.5rem}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.5rem 0 .75rem}
p{margin:.5rem 0;max-width:46rem}
.verdict{font-size:1.12rem}
.meta,figcaption,.note{color:var(--soft);font-size:.86rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:1px;background:var(--line);border:1px solid var(--line);margin:1.25rem 0}
.tile{background:var(--bg);padding:.8rem 1rem}
.tile b{display:block;font-size:1.45rem;line-height:1.2;font-variant-numeric:tabular-nums;font-weight:600}
.tile span{color:var(--soft);font-size:.84rem}
.scroll{overflow-x:auto;margin:.75rem 0}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;min-width:100%}
th,td{text-align:left;padding:.4rem .75rem .4rem 0;border-bottom:1px solid var(--line);vertical-align:top;white-space:nowrap}
th{color:var(--soft);font-weight:500}
.n{text-align:right}
figure{margin:1rem 0}
svg{display:block;width:100%;height:auto;max-width:56rem}
svg text{fill:var(--soft);font-size:12px;font-family:inherit}
svg .title{fill:var(--ink);font-weight:600;font-size:13px}
svg .grid{stroke:var(--line);stroke-width:1}
svg .axis{stroke:var(--soft);stroke-width:1}
.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}
svg text.f0{fill:var(--c0)}svg text.f1{fill:var(--c1)}svg text.f2{fill:var(--c2)}svg text.f3{fill:var(--c3)}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:1.25rem;margin:.5rem 0 1.5rem}
.pair>div,pre{background:var(--box);padding:.75rem 1rem;margin:0;border-radius:3px}
.pair pre{padding:0;background:none}
pre{font:.84rem/1.45 ui-monospace,SFMono-Regular,Menlo,"Liberation Mono",monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.prompt{font-weight:600;margin:1rem 0 .25rem;overflow-wrap:anywhere}
.alert{border-left:4px solid var(--warn);padding:.25rem 0 .25rem 1rem;margin:1rem 0}
.alert ul{margin:.25rem 0;padding-left:1.1rem}
details{margin:1rem 0}summary{cursor:pointer;font-weight:600}
@media (max-width:40rem){.pair{grid-template-columns:1fr}main{padding:1.25rem .9rem 3rem}h1{font-size:1.35rem}}
@media print{:root{--bg:#fff;--ink:#000;--soft:#444;--line:#bbb;--box:#f4f4f4;--c0:#0b66a8;--c1:#c8540a;--c2:#08805f;--c3:#8f4a86}main{max-width:none;padding:0}figure,.pair,tr,.tiles{break-inside:avoid}h2{break-after:avoid}table{font-size:.72rem}.scroll{overflow:visible}th,td{white-space:normal}}
)css";

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = sequence_length(text);
    if (n == 0) out += "\xEF\xBF\xBD";
    else if (text[0] == '&') out += "&amp;";
    else if (text[0] == '<') out += "&lt;";
    else if (text[0] == '>') out += "&gt;";
    else if (text[0] == '"') out += "&quot;";
    else if (n == 1 && static_cast<uint8_t>(text[0]) < 0x20 && text[0] != '\n' && text[0] != '\t') out += ' ';
    else out += text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

std::string html_page(std::string_view title, std::string_view body) {
  return cat("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\">\n<title>", escape_html(title), "</title>\n<style>", kStyle, "</style></head>\n<body><main>\n", body,
             "\n</main></body></html>\n");
}

}  // namespace cupel::eval
