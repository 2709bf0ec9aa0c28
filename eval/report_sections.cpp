// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/report_sections.h"

#include <algorithm>
#include <map>

#include "base/cat.h"
#include "eval/html.h"
#include "eval/svg.h"

namespace cupel::eval {

namespace {

std::string heading(const char* text) { return cat("<h2>", text, "</h2>\n"); }
std::string figure(const std::string& svg, const std::string& caption) {
  return cat("<figure>", svg, caption.empty() ? "" : cat("<figcaption>", escape_html(caption), "</figcaption>"), "</figure>\n");
}

std::string tile(const std::string& value, const std::string& what) {
  return cat("<div class=\"tile\"><b>", escape_html(value), "</b><span>", escape_html(what), "</span></div>");
}

std::string bullet_list(const std::vector<std::string>& items) {
  std::string out = "<ul>";
  for (const std::string& i : items) out += cat("<li>", escape_html(i), "</li>");
  return out + "</ul>";
}

std::string or_dash(double value, int digits) { return value > 0 ? fixed(value, digits) : "-"; }

/// Mean of `value` over the matrices of each layer, in layer order.
std::map<int, double> by_layer(const std::vector<MatrixRow>& rows, const std::string& role, double MatrixRow::*value) {
  std::map<int, std::pair<double, int>> sums;
  for (const MatrixRow& r : rows) {
    if (r.layer < 0 || r.role != role) continue;
    sums[r.layer].first += r.*value;
    sums[r.layer].second += 1;
  }
  std::map<int, double> out;
  for (const auto& [layer, sum] : sums) out[layer] = sum.first / sum.second;
  return out;
}

Series layer_series(const std::vector<MatrixRow>& rows, const std::string& role, double MatrixRow::*value) {
  Series s{role, {}, {}, {}};
  for (const auto& [layer, mean] : by_layer(rows, role, value)) {
    s.x.push_back(layer);
    s.y.push_back(mean);
  }
  return s;
}

std::vector<std::string> roles_of(const std::vector<MatrixRow>& rows) {
  std::vector<std::string> out;
  for (const MatrixRow& r : rows)
    if (r.layer >= 0 && std::find(out.begin(), out.end(), r.role) == out.end()) out.push_back(r.role);
  return out;
}

/// A chart of at most four roles: more lines than colours can't be told apart.
std::string role_charts(const std::vector<MatrixRow>& rows) {
  const auto roles = roles_of(rows);
  std::string out;
  for (std::size_t first = 0; first < roles.size(); first += 4) {
    std::vector<Series> errors;
    for (std::size_t i = first; i < std::min(first + 4, roles.size()); ++i)
      errors.push_back(layer_series(rows, roles[i], &MatrixRow::relative_error));
    out += figure(line_chart({first ? "" : "Relative error of each matrix's output", "layer", "error / signal", false, true}, errors), "");
  }
  return out;
}

Table matrix_table(const std::vector<MatrixRow>& rows) {
  Table t{{"matrix", "method", "layout", "bits/weight", "relative error", "note"}, {}};
  for (const MatrixRow& r : rows)
    t.rows.push_back({r.name, r.method, r.layout, fixed(r.bits_per_weight, 3), fixed(r.relative_error, 6),
                      r.fallback.empty() ? r.note : "plain rounding: " + r.fallback});
  return t;
}

}  // namespace

std::string tiles_section(const RunReport& report) {
  if (!report.before || !report.after) return "";
  const EvalResult &b = *report.before, &a = *report.after;
  std::string out = "<div class=\"tiles\">";
  out += tile(human_bytes(static_cast<double>(a.bytes)), cat("file, from ", human_bytes(static_cast<double>(b.bytes))));
  out += tile(fixed(a.bits_per_weight, 2), "bits a weight, everything counted");
  if (!a.texts.empty()) {
    const auto& p = a.texts[0].perplexity;
    out += tile(fixed(p.value, 2), cat("perplexity, from ", fixed(b.texts[0].perplexity.value, 2)));
    if (const auto& d = a.texts[0].divergence) {
      out += tile(fixed(d->kl_mean, 4), cat("KL, nats a token (+- ", fixed(d->kl_error, 4), ")"));
      out += tile(cat(fixed(100 * d->same_top1, 1), " %"), "same best token");
    }
  }
  if (a.decode_tokens_per_second > 0)
    out += tile(fixed(a.decode_tokens_per_second, 0),
                cat("tokens a second", b.decode_tokens_per_second > 0 ? cat(", float32 ", fixed(b.decode_tokens_per_second, 0)) : ""));
  return out + "</div>\n";
}

std::string results_section(const std::vector<EvalResult>& results) {
  Table t{{"model", "engine", "size", "bits/weight", "matrices alone", "text", "perplexity", "+-", "KL", "+-", "same top-1",
           "prompt tok/s", "decode tok/s"}, {}};
  for (const EvalResult& r : results) {
    std::vector<TextMeasure> texts = r.texts;
    if (texts.empty()) texts.emplace_back();
    for (const TextMeasure& m : texts) {
      const bool scored = m.perplexity.blocks > 0;
      const auto& d = m.divergence;
      t.rows.push_back({r.model, r.engine, human_bytes(static_cast<double>(r.bytes)), fixed(r.bits_per_weight, 3),
                        or_dash(r.bits_per_weight_matrices, 3),
                        scored ? cat(m.perplexity.file, ", ", protocol_name(m.perplexity.protocol), ", ", m.perplexity.blocks, " x ", m.perplexity.length) : "-",
                        scored ? fixed(m.perplexity.value, 4) : "-", scored ? fixed(m.perplexity.error, 3) : "-",
                        d ? fixed(d->kl_mean, 6) : "-", d ? fixed(d->kl_error, 6) : "-",
                        d ? fixed(d->same_top1, 4) : "-", or_dash(r.prompt_tokens_per_second, 1), or_dash(r.decode_tokens_per_second, 1)});
    }
  }
  return heading("Results") + t.html();
}

std::string matrices_section(const std::vector<MatrixRow>& rows) {
  if (rows.empty()) return "";
  std::vector<Series> bits;
  std::vector<std::string> categories;
  const auto roles = roles_of(rows);
  std::map<int, std::pair<double, int>> mean;
  for (const MatrixRow& r : rows)
    if (r.layer >= 0) mean[r.layer].first += r.bits_per_weight, mean[r.layer].second += 1;
  Series all{"bits a weight", {}, {}, {}};
  for (const auto& [layer, sum] : mean) {
    categories.push_back(cat(layer));
    all.y.push_back(sum.first / sum.second);
  }
  return heading("Layer by layer") + role_charts(rows) +
         figure(bar_chart({"Bits a weight of each layer's matrices", "layer", "bits", false, false}, categories, {all}), "") +
         "<details><summary>Every matrix</summary>" + matrix_table(rows).html() + "</details>\n";
}

std::string divergence_section(const std::vector<EvalResult>& results) {
  std::string out;
  for (const EvalResult& r : results)
    for (const TextMeasure& m : r.texts) {
      if (!m.divergence) continue;
      const DivergenceResult& d = *m.divergence;
      out += figure(log_histogram({cat("KL of each token: ", r.model), "nats", "tokens", true, false}, d.kl, 60),
                    cat(m.perplexity.file, ", ", d.tokens, " tokens: median ", fixed(d.kl_median, 4), ", 90 % ", fixed(d.kl_p90, 4), ", 99 % ",
                        fixed(d.kl_p99, 4), ", largest ", fixed(d.kl_max, 3), "; reverse KL ", fixed(d.kl_reverse_mean, 4),
                        "; the right token's probability changed by ", fixed(100 * d.delta_p_mean, 2), " points on average, rms ",
                        fixed(100 * d.delta_p_rms, 2)));
    }
  return out.empty() ? "" : heading("How far each prediction moved") + out;
}

std::string samples_section(const std::vector<SamplePair>& samples) {
  if (samples.empty()) return "";
  std::string out = heading("The same prompt, continued greedily");
  for (const SamplePair& s : samples)
    out += cat("<p class=\"prompt\">", escape_html(s.prompt), "</p><div class=\"pair\"><div><span class=\"meta\">original</span><pre>",
               escape_html(s.original), "</pre></div><div><span class=\"meta\">compressed</span><pre>", escape_html(s.compressed),
               "</pre></div></div>\n");
  return out;
}

std::string curves_section(const std::vector<Curve>& curves) {
  std::string out;
  for (const Curve& c : curves)
    out += figure(line_chart({c.step, "step", c.metric, false, false}, {{c.metric, c.x, c.y, {}}}), "");
  return out.empty() ? "" : heading("Training") + out;
}

std::string pareto_section(const std::vector<EvalResult>& results) {
  Series points{"models", {}, {}, {}};
  std::vector<std::string> labels;
  for (const EvalResult& r : results) {
    if (r.texts.empty() || !r.texts[0].divergence) continue;
    points.x.push_back(r.bits_per_weight);
    points.y.push_back(r.texts[0].divergence->kl_mean);
    points.error.push_back(r.texts[0].divergence->kl_error);
    labels.push_back(r.model.substr(r.model.find_last_of('/') + 1));
  }
  if (labels.empty()) return "";
  return heading("Size against divergence") +
         figure(scatter_chart({"Mean KL by bits a weight", "bits a weight, everything counted", "KL, nats a token", false, true}, {points}, labels), "");
}

std::string alerts_section(const std::vector<std::string>& fallbacks, const std::vector<std::string>& warnings) {
  std::string out;
  if (!fallbacks.empty()) out += cat("<div class=\"alert\"><strong>Fell back to plain rounding</strong>", bullet_list(fallbacks), "</div>\n");
  if (!warnings.empty()) out += cat("<div class=\"alert\"><strong>Warnings</strong>", bullet_list(warnings), "</div>\n");
  return out;
}

std::string details_section(const RunReport& report) {
  Table steps{{"step", "seconds"}, {}};
  for (const auto& [name, seconds] : report.step_seconds) steps.rows.push_back({name, fixed(seconds, 1)});
  Table files{{"format", "path"}, {}};
  for (const auto& [kind, path] : report.files) files.rows.push_back({kind, path});
  std::string out;
  if (!steps.rows.empty()) out += heading("Time") + steps.html();
  if (!files.rows.empty()) out += heading("Files") + files.html();
  if (!report.notes.empty()) out += heading("Notes") + bullet_list(report.notes);
  out += cat("<details><summary>Recipe, with every default</summary><pre>", escape_html(report.recipe_yaml), "</pre></details>\n");
  return out;
}

}  // namespace cupel::eval
