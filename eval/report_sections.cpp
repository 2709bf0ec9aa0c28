// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/report_sections.h"

#include <algorithm>

#include "base/cat.h"
#include "eval/html.h"

namespace cupel::eval {

namespace {

constexpr std::size_t kShownItems = 6;  // of a long list; the others fold

std::string tile(const std::string& value, const std::string& what) {
  return cat("<div class=\"tile\"><b>", escape_html(value), "</b><span>", escape_html(what),
             "</span></div>");
}

std::string items(const std::vector<std::string>& all, std::size_t begin, std::size_t end) {
  std::string out = "<ul>";
  for (std::size_t i = begin; i < end; ++i) out += cat("<li>", escape_html(all[i]), "</li>");
  return out + "</ul>";
}

std::string folding_list(const std::vector<std::string>& all) {
  const std::size_t shown = all.size() <= kShownItems + 1 ? all.size() : kShownItems;
  if (shown == all.size()) return items(all, 0, shown);
  return cat(items(all, 0, shown), "<details><summary>", all.size() - shown, " more</summary>",
             items(all, shown, all.size()), "</details>");
}

std::string alert(const std::string& what, const std::vector<std::string>& all) {
  if (all.empty()) return "";
  return cat("<div class=\"alert\"><strong>", what, "</strong>", folding_list(all), "</div>\n");
}

/// How long two continuations agree, in whole characters.
std::string agreement(const std::string& a, const std::string& b) {
  if (a == b) return "identical";
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  // The byte that differs may be inside a character: that one has begun and doesn't count.
  auto characters = std::count_if(a.begin(), end, [](char c) { return (c & 0xC0) != 0x80; });
  if (end != a.end() && (*end & 0xC0) == 0x80) --characters;
  if (characters == 0) return "different from the start";
  return cat("the same for ", characters, characters == 1 ? " character" : " characters");
}

std::string continuation(const std::string& who, const std::string& text) {
  return cat("<div><span class=\"meta\">", who, "</span><pre>", escape_html(text), "</pre></div>");
}

}  // namespace

std::string tiles_section(const RunReport& report) {
  if (!report.before || !report.after) return "";
  const EvalResult &b = *report.before, &a = *report.after;
  std::string out = cat("<div class=\"tiles\">",
                        tile(human_bytes(static_cast<double>(a.bytes)),
                             cat("file, from ", human_bytes(static_cast<double>(b.bytes)))),
                        tile(fixed(a.bits_per_weight, 2), "bits a weight, everything counted"));
  if (!a.texts.empty()) {
    const auto& p = a.texts[0].perplexity;
    out += tile(fixed(p.value, 2),
                b.texts.empty() ? "perplexity"
                                : cat("perplexity, from ", fixed(b.texts[0].perplexity.value, 2)));
    if (const auto& d = a.texts[0].divergence) {
      out += tile(fixed(d->kl_mean, 4),
                  cat("KL, nats a token",
                      d->kl_error ? cat(", \xC2\xB1\xC2\xA0", fixed(*d->kl_error, 4)) : ""));
      out += tile(cat(fixed(100 * d->same_top1, 1), " %"), "same best token");
    }
  }
  const double before = b.decode_tokens_per_second, after = a.decode_tokens_per_second;
  if (after > 0)
    out += tile(fixed(after, 0),
                before > 0 ? cat("tokens a second, from ", fixed(before, 0)) : "tokens a second");
  return out + "</div>\n";
}

std::string alerts_section(const std::vector<std::string>& fallbacks,
                           const std::vector<std::string>& warnings) {
  return alert(cat("Fell back: ", fallbacks.size()), fallbacks) + alert("Warnings", warnings);
}

std::string samples_section(const std::vector<SamplePair>& samples) {
  if (samples.empty()) return "";
  std::string out = "<h2>The same prompt, continued greedily</h2>\n";
  for (const SamplePair& s : samples)
    out += cat("<p class=\"prompt\">", escape_html(s.prompt), "</p><div class=\"pair\">",
               continuation("original", s.original),
               continuation(cat("compressed, ", agreement(s.original, s.compressed)), s.compressed),
               "</div>\n");
  return out;
}

std::string details_section(const RunReport& report) {
  Table steps{{"step", "seconds"}, {}};
  for (const auto& [name, seconds] : report.step_seconds)
    steps.rows.push_back({name, fixed(seconds, 1)});
  Table files{{"format", "path"}, {}};
  for (const auto& [kind, path] : report.files) files.rows.push_back({kind, path});
  std::string out;
  if (!steps.rows.empty()) out += cat("<h2>Time</h2>\n", steps.html(), "\n");
  if (!files.rows.empty()) out += cat("<h2>Files</h2>\n", files.html(), "\n");
  if (!report.notes.empty())
    out += cat("<h2>Notes</h2>\n", items(report.notes, 0, report.notes.size()), "\n");
  if (!report.recipe_yaml.empty())
    out += cat("<h2>Recipe, with every default</h2>\n<pre>", escape_html(report.recipe_yaml),
               "</pre>\n");
  return out;
}

}  // namespace cupel::eval
