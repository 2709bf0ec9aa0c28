// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>

#include "base/cat.h"
#include "eval/html.h"
#include "eval/report_sections.h"
#include "eval/svg.h"

namespace cupel::eval {

namespace {

/// A model's divergence over one text.
struct Measured {
  std::string model;
  const DivergenceResult* divergence = nullptr;
};

/// Those of the text at place `text` of each model.
std::vector<Measured> measured(const std::vector<EvalResult>& results, std::size_t text) {
  std::vector<Measured> out;
  const auto names = labels_of(results);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (text < results[i].texts.size() && results[i].texts[text].divergence)
      out.push_back({names[i], &*results[i].texts[text].divergence});
  return out;
}

std::string sign_note(const DivergenceResult& d) {
  return d.kept_tokens > 0 ? cat(" The reference is saved, with its ", d.kept_tokens,
                                 " most probable tokens and the rest as one: KL is a lower bound.")
                           : "";
}

std::string ratio_note(const PerplexityRatio& r) {
  std::string out = cat(" Perplexity ", fixed(r.ratio.value, 4), " times that of the reference");
  if (r.ratio.error) out += cat(", \xC2\xB1\xC2\xA0", fixed(*r.ratio.error, 4));
  return out + ".";
}

std::string kl_note(const DivergenceResult& d) {
  return cat(d.tokens, " tokens; reverse KL ", fixed(d.kl_reverse.value, 4),
             ". The right token's probability changed by ", fixed(100 * d.delta_p.value, 2),
             " points on average, ", fixed(100 * d.delta_p_rms.value, 2), " rms.",
             d.perplexity ? ratio_note(*d.perplexity) : "", sign_note(d));
}

std::string histograms(const std::vector<EvalResult>& results) {
  ChartText text;
  text.x = "KL, nats";
  text.y = "tokens";
  std::size_t models = 0;
  for (const EvalResult& r : results) {
    bool any = false;
    for (const TextMeasure& m : r.texts) {
      if (!m.divergence) continue;
      text.cover_x.insert(text.cover_x.end(), m.divergence->kl.begin(), m.divergence->kl.end());
      any = true;
    }
    models += any;
  }
  std::string out;
  const auto names = labels_of(results);
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const TextMeasure& m : results[i].texts) {
      if (!m.divergence) continue;
      text.title = cat("KL of each token, ", models > 1 ? cat(names[i], ", ") : "",
                       file_name(m.perplexity.file));
      text.note = kl_note(*m.divergence);
      out += log_histogram(text, m.divergence->kl, 48);
    }
  return out;
}

/// Mean KL by context length: a bar a model and range.
std::string position_chart(const std::vector<Measured>& models, const std::string& file) {
  std::vector<std::string> ranges;  // those of the model that has most
  std::vector<Series> groups;
  for (const Measured& m : models) {
    Series s;
    s.name = m.model;
    std::vector<std::string> names;
    for (const PartDivergence& p : m.divergence->by_position) {
      names.push_back(p.name);
      s.y.push_back(p.kl.value);
    }
    if (names.size() > ranges.size()) ranges = names;
    groups.push_back(std::move(s));
  }
  if (ranges.size() < 2) return "";
  ChartText text;
  text.title = cat("Mean KL by context, ", file);
  text.x = "tokens of context";
  text.y = "KL, nats a token";
  return bar_chart(text, ranges, groups);
}

const PartDivergence* part_named(const DivergenceResult& d, const std::string& name) {
  for (const PartDivergence& p : d.by_class)
    if (p.name == name) return &p;
  return nullptr;
}

/// A row a kind of token, a column a model.
std::string class_table(const std::vector<Measured>& models, const std::string& file) {
  Table t{{"kind of token", "tokens"}, {}};
  for (const Measured& m : models) t.header.push_back(m.model);
  for (const TokenClass c : kTokenClasses) {
    const std::string name(token_class_name(c));
    const PartDivergence* first = part_named(*models[0].divergence, name);
    if (!first) continue;
    t.rows.push_back({name, cat(first->tokens)});
    for (const Measured& m : models) {
      const PartDivergence* p = part_named(*m.divergence, name);
      t.rows.back().push_back(p ? fixed(p->kl.value, 4) : "-");
    }
  }
  return t.rows.empty()
             ? ""
             : cat("<p class=\"title\">Mean KL by kind of token, ", file, "</p>", t.html());
}

/// A row a percentile, a column a model; `scale` turns values into the unit of the title.
Table percentiles_table(const std::vector<Measured>& models, Spread DivergenceResult::*spread,
                        double scale, int digits) {
  Table t{{"percentile"}, {}};
  for (const Measured& m : models) t.header.push_back(m.model);
  const auto row = [&](std::string name, const auto& value) {
    t.rows.push_back({std::move(name)});
    for (const Measured& m : models)
      t.rows.back().push_back(fixed(scale * value(m.divergence->*spread), digits));
  };
  row("smallest", [](const Spread& s) { return s.min; });
  for (std::size_t i = 0; i < kPercentiles.size(); ++i)
    row(cat(kPercentiles[i], " %"), [&](const Spread& s) { return s.percentiles[i]; });
  row("largest", [](const Spread& s) { return s.max; });
  return t;
}

std::string percentiles(const std::vector<Measured>& models, const std::string& file) {
  return cat("<details><summary>Percentiles, ", file, "</summary><p class=\"title\">KL, nats</p>",
             percentiles_table(models, &DivergenceResult::kl_spread, 1, 5).html(),
             "<p class=\"title\">Change of the right token's probability, points</p>",
             percentiles_table(models, &DivergenceResult::delta_p_spread, 100, 3).html(),
             "</details>\n");
}

}  // namespace

std::string divergence_section(const std::vector<EvalResult>& results) {
  std::string charts = histograms(results), tables;
  std::size_t texts = 0;
  for (const EvalResult& r : results) texts = std::max(texts, r.texts.size());
  for (std::size_t t = 0; t < texts; ++t) {
    const auto models = measured(results, t);
    if (models.empty()) continue;
    std::string file;
    for (const EvalResult& r : results)
      if (t < r.texts.size()) file = file_name(r.texts[t].perplexity.file);
    charts += position_chart(models, file);
    tables += class_table(models, escape_html(file)) + percentiles(models, escape_html(file));
  }
  return charts.empty() ? ""
                        : cat("<h2>How far each prediction moved</h2>\n<div class=\"charts\">",
                              charts, "</div>\n", tables);
}

}  // namespace cupel::eval
