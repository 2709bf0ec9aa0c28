// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <functional>

#include "base/cat.h"
#include "eval/report_sections.h"
#include "eval/svg.h"

namespace cupel::eval {

namespace {

constexpr std::size_t kSideBySide = 3;  // models that fit next to each other on a phone

std::string positive(double value, int digits) { return value > 0 ? fixed(value, digits) : "-"; }

/// "20.9625 ± 1.2000" with spaces that don't break.
std::string with_error(double value, double error, int digits) {
  return error > 0 ? cat(fixed(value, digits), "\xC2\xA0\xC2\xB1\xC2\xA0", fixed(error, digits)) : fixed(value, digits);
}

std::string protocol_text(const PerplexityResult& p) {
  return cat(p.file, " (", protocol_name(p.protocol), ", ", p.blocks, " x ", p.length, ")");
}

const TextMeasure* measure_at(const EvalResult& r, std::size_t text) { return text < r.texts.size() ? &r.texts[text] : nullptr; }

/// A row a fact, a column a model; facts that no model has are left out.
class Facts {
 public:
  explicit Facts(const std::vector<EvalResult>& results) : results_(results) {
    table_.header.push_back("");
    for (const EvalResult& r : results) table_.header.push_back(r.model);
  }
  void add(const std::string& name, const std::function<std::string(const EvalResult&)>& value) {
    std::vector<std::string> row = {name};
    bool any = false;
    for (const EvalResult& r : results_) {
      row.push_back(value(r));
      if (row.back().empty()) row.back() = "-";
      any = any || row.back() != "-";
    }
    if (any) table_.rows.push_back(std::move(row));
  }
  std::string html() const { return table_.html("facts"); }

 private:
  const std::vector<EvalResult>& results_;
  Table table_;
};

void add_text_facts(Facts& facts, const std::vector<EvalResult>& results, std::size_t text) {
  const PerplexityResult* first = nullptr;
  const DivergenceResult* divergence = nullptr;
  for (const EvalResult& r : results) {
    const TextMeasure* m = measure_at(r, text);
    if (m && !first) first = &m->perplexity;
    if (m && m->divergence && !divergence) divergence = &*m->divergence;
  }
  if (!first) return;
  facts.add(cat("perplexity of ", protocol_text(*first)), [&](const EvalResult& r) {
    const TextMeasure* m = measure_at(r, text);
    return m ? with_error(m->perplexity.value, m->perplexity.error, 4) : "";
  });
  facts.add("bits a byte", [&](const EvalResult& r) {
    const TextMeasure* m = measure_at(r, text);
    return m ? positive(m->perplexity.bits_per_byte, 4) : "";
  });
  if (!divergence) return;
  facts.add(cat("KL from ", divergence->against, ", nats a token"), [&](const EvalResult& r) {
    const TextMeasure* m = measure_at(r, text);
    return m && m->divergence ? with_error(m->divergence->kl_mean, m->divergence->kl_error, 6) : "";
  });
  facts.add("same best token", [&](const EvalResult& r) {
    const TextMeasure* m = measure_at(r, text);
    return m && m->divergence ? cat(fixed(100 * m->divergence->same_top1, 2), "\xC2\xA0%") : "";
  });
}

std::string side_by_side(const std::vector<EvalResult>& results) {
  Facts facts(results);
  facts.add("engine", [](const EvalResult& r) { return r.engine; });
  facts.add("file", [](const EvalResult& r) { return r.bytes > 0 ? human_bytes(static_cast<double>(r.bytes)) : ""; });
  facts.add("parameters", [](const EvalResult& r) { return r.parameters > 0 ? cat(fixed(static_cast<double>(r.parameters) / 1e6, 1), " M") : ""; });
  facts.add("bits a weight, everything counted", [](const EvalResult& r) { return positive(r.bits_per_weight, 3); });
  facts.add("bits a weight, quantized matrices alone", [](const EvalResult& r) { return positive(r.bits_per_weight_matrices, 3); });
  std::size_t texts = 0;
  for (const EvalResult& r : results) texts = std::max(texts, r.texts.size());
  for (std::size_t t = 0; t < texts; ++t) add_text_facts(facts, results, t);
  facts.add("prompt, tokens a second", [](const EvalResult& r) { return positive(r.prompt_tokens_per_second, 1); });
  facts.add("generation, tokens a second", [](const EvalResult& r) { return positive(r.decode_tokens_per_second, 1); });
  return facts.html();
}

std::string row_a_model(const std::vector<EvalResult>& results) {
  Table t{{"model", "engine", "size", "bits/weight", "matrices alone", "text", "perplexity", "+-", "KL", "+-", "same top-1",
           "prompt tok/s", "decode tok/s"},
          {}};
  for (const EvalResult& r : results) {
    std::vector<TextMeasure> texts = r.texts;
    if (texts.empty()) texts.emplace_back();
    for (const TextMeasure& m : texts) {
      const bool scored = m.perplexity.blocks > 0;
      const auto& d = m.divergence;
      t.rows.push_back({r.model, r.engine, human_bytes(static_cast<double>(r.bytes)), positive(r.bits_per_weight, 3),
                        positive(r.bits_per_weight_matrices, 3), scored ? protocol_text(m.perplexity) : "-",
                        scored ? fixed(m.perplexity.value, 4) : "-", scored ? fixed(m.perplexity.error, 4) : "-",
                        d ? fixed(d->kl_mean, 6) : "-", d ? fixed(d->kl_error, 6) : "-",
                        d ? fixed(d->same_top1, 4) : "-", positive(r.prompt_tokens_per_second, 1),
                        positive(r.decode_tokens_per_second, 1)});
    }
  }
  return t.html();
}

std::string kl_note(const std::string& file, const DivergenceResult& d) {
  return cat(file, ", ", d.tokens, " tokens. Median ", fixed(d.kl_median, 4), ", 90 % below ", fixed(d.kl_p90, 4), ", 99 % below ",
             fixed(d.kl_p99, 4), ", largest ", fixed(d.kl_max, 3), "; reverse KL ", fixed(d.kl_reverse_mean, 4),
             ". The right token's probability changed by ", fixed(100 * d.delta_p_mean, 2), " points on average, ",
             fixed(100 * d.delta_p_rms, 2), " rms.");
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

std::string results_section(const std::vector<EvalResult>& results) {
  if (results.empty()) return "";
  return cat("<h2>Results</h2>\n", results.size() <= kSideBySide ? side_by_side(results) : row_a_model(results), "\n");
}

std::string pareto_section(const std::vector<EvalResult>& results) {
  Series points;
  std::vector<std::string> labels;
  for (const EvalResult& r : results) {
    if (r.texts.empty() || !r.texts[0].divergence) continue;
    points.x.push_back(r.bits_per_weight);
    points.y.push_back(r.texts[0].divergence->kl_mean);
    points.error.push_back(r.texts[0].divergence->kl_error);
    labels.push_back(file_name(r.model));
  }
  if (labels.size() < 2) return "";
  ChartText text;
  text.title = "Mean KL by bits a weight";
  text.x = "bits a weight, everything counted";
  text.y = "KL, nats a token";
  text.log_y = true;
  return cat("<h2>Size against divergence</h2>\n<div class=\"charts\">", scatter_chart(text, points, labels), "</div>\n");
}

std::string divergence_section(const std::vector<EvalResult>& results) {
  std::string out;
  for (const EvalResult& r : results)
    for (const TextMeasure& m : r.texts) {
      if (!m.divergence) continue;
      ChartText text;
      text.title = cat("KL of each token, ", file_name(r.model));
      text.x = "KL, nats";
      text.y = "tokens";
      text.note = kl_note(m.perplexity.file, *m.divergence);
      out += log_histogram(text, m.divergence->kl, 48);
    }
  return out.empty() ? "" : cat("<h2>How far each prediction moved</h2>\n<div class=\"charts\">", out, "</div>\n");
}

}  // namespace cupel::eval
