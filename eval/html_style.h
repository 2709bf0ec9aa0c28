// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

namespace cupel::eval {

/// The page's style sheet. Two rules keep charts legible: their column is about as wide as their
/// view box (440), and a small screen gets larger letters inside.
constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--bg:#fdfdfb;--ink:#1d2327;--soft:#59636a;--line:#dcdfda;--box:#f4f4ef;--warn:#b45f06;
  --c0:#0b66a8;--c1:#c8540a;--c2:#08805f;--c3:#8f4a86}
@media (prefers-color-scheme:dark){:root{--bg:#14181b;--ink:#e5e8e6;--soft:#a0abb1;--line:#313a40;--box:#1c2226;
  --warn:#e8a552;--c0:#62aee6;--c1:#f0935a;--c2:#4fc09f;--c3:#d493cb}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);
  font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans","DejaVu Sans",sans-serif}
main{max-width:64rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
header{border-bottom:2px solid var(--ink);padding-bottom:1rem;margin-bottom:1.5rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;line-height:1.3;margin:2.75rem 0 .75rem}
p{margin:.5rem 0;max-width:44rem}
ul{max-width:44rem}
li{overflow-wrap:anywhere}
.meta,figcaption{color:var(--soft);font-size:.875rem}

.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.75rem,1fr));gap:1.25rem 1.5rem;margin:1.5rem 0}
.tile b{display:block;font-size:1.6rem;line-height:1.2;font-weight:600;font-variant-numeric:tabular-nums}
.tile span{display:block;color:var(--soft);font-size:.875rem;line-height:1.35}

.scroll{overflow-x:auto;margin:.25rem 0 1.5rem}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.4rem 1.25rem .4rem 0;border-bottom:1px solid var(--line);vertical-align:top;white-space:nowrap}
th:last-child,td:last-child{padding-right:0}
th{color:var(--soft);font-weight:500;vertical-align:bottom}
.n{text-align:right}
.facts table{width:100%;max-width:48rem}
.facts th,.facts td{white-space:normal}
.facts th,.facts td:first-child{overflow-wrap:anywhere;min-width:6.5rem}
.facts td:first-child{color:var(--soft)}

.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:1.75rem 2.5rem}
figure{margin:0;min-width:0}
.title{font-weight:600;font-size:.95rem;margin:0 0 .35rem;overflow-wrap:anywhere}
.key{display:flex;flex-wrap:wrap;gap:.1rem 1rem;margin:0 0 .35rem;font-size:.875rem;color:var(--soft);overflow-wrap:anywhere}
.key span[class]::before{content:"";display:inline-block;border:.36em solid;margin-right:.4em}
.key b{color:var(--ink)}
.k0::before{border-color:var(--c0)!important}.k1::before{border-color:var(--c1)!important}
.k2::before{border-color:var(--c2)!important}.k3::before{border-color:var(--c3)!important}
figcaption{margin-top:.35rem}
svg{display:block;width:100%;max-width:32rem;height:auto;overflow:visible}
svg text{fill:var(--soft);font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans","DejaVu Sans",sans-serif}
svg .m{text-anchor:middle}svg .e{text-anchor:end}svg .b{fill:var(--ink);font-weight:600}
.grid{stroke:var(--line)}.axis{stroke:var(--soft)}
polyline{fill:none;stroke-width:1.6;stroke-linejoin:round}
.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}

.pair{display:grid;grid-template-columns:1fr 1fr;gap:1rem;margin:.5rem 0 1.75rem}
.pair>div{min-width:0}
pre{background:var(--box);border:1px solid var(--line);border-radius:3px;padding:.75rem 1rem;margin:.25rem 0 0;
  font:.84rem/1.5 ui-monospace,SFMono-Regular,Menlo,"Liberation Mono","DejaVu Sans Mono",monospace;
  white-space:pre-wrap;overflow-wrap:anywhere;tab-size:4}
.prompt{font-weight:600;margin:1.25rem 0 .25rem;overflow-wrap:anywhere;white-space:pre-wrap}
.alert{border-left:3px solid var(--warn);padding:.1rem 0 .1rem 1rem;margin:1.25rem 0;font-size:.94rem}
.alert strong{color:var(--warn)}
.alert ul{margin:.25rem 0;padding-left:1.1rem}
details{margin:1.25rem 0}
summary{cursor:pointer;font-weight:600}

@media (max-width:40rem){main{padding:1.5rem 1rem 3rem}h1{font-size:1.4rem}.pair{grid-template-columns:1fr}
  th,td{padding-right:.9rem}
  th:first-child,td:first-child{white-space:normal;overflow-wrap:anywhere;min-width:8rem;max-width:10rem}}
@media (max-width:30rem){svg text{font-size:15px}.tile b{font-size:1.4rem}}
@page{margin:16mm}
@media print{:root{color-scheme:light;--bg:#fff;--ink:#000;--soft:#444;--line:#bbb;--box:#fff;--warn:#8a4b00;
  --c0:#0b66a8;--c1:#c8540a;--c2:#08805f;--c3:#8f4a86}
  body{font-size:10.5pt}main{max-width:none;padding:0 1px}
  figure,.pair,.prompt,tr,.tiles,.alert li{break-inside:avoid}h2,.prompt{break-after:avoid}
  .charts{grid-template-columns:1fr 1fr;gap:1.25rem 2rem}
  .scroll{overflow:visible}.scroll table{font-size:7.5pt}.scroll th,.scroll td{white-space:normal;padding-right:.6rem}
  .facts table{font-size:9.5pt}}
)css";

}  // namespace cupel::eval
