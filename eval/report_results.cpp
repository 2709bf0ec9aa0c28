// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <functional>
#include <set>

#include "base/cat.h"
#include "eval/html.h"
#include "eval/report_comparison.h"
#include "eval/report_sections.h"

namespace cupel::eval {

std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::vector<std::string> labels_of(const std::vector<EvalResult>& results) {
  std::vector<std::string> names, paths;
  for (const EvalResult& r : results) {
    names.push_back(file_name(r.model));
    paths.push_back(r.model);
  }
  const bool distinct = std::set<std::string>(names.begin(), names.end()).size() == names.size();
  return distinct ? names : paths;
}

namespace {

constexpr std::size_t kSideBySide = 3;  // models that fit next to each other on a phone

std::string positive(double value, int digits) {
  return value > 0 ? fixed(value, digits) : "-";
}

/// "20.9625 ± 1.2000"; a line may break before the sign. The value alone where the error is
/// unknown.
std::string with_error(double value, const std::optional<double>& error, int digits) {
  return error ? cat(fixed(value, digits), " \xC2\xB1\xC2\xA0", fixed(*error, digits))
               : fixed(value, digits);
}

std::string or_dash(const std::optional<double>& value, int digits) {
  return value ? fixed(*value, digits) : "-";
}

/// A lower bound says so.
std::string kl_sign(const DivergenceResult& d) {
  return d.kept_tokens > 0 ? "\xE2\x89\xA5\xC2\xA0" : "";
}

std::string protocol_text(const PerplexityResult& p) {
  return cat(file_name(p.file), " (", protocol_name(p.list.protocol), ", ", p.list.blocks.size(),
             " x ", p.list.length, ")");
}

const TextMeasure* measure_at(const EvalResult& r, std::size_t text) {
  return text < r.texts.size() ? &r.texts[text] : nullptr;
}

std::size_t text_count(const std::vector<EvalResult>& results) {
  std::size_t texts = 0;
  for (const EvalResult& r : results) texts = std::max(texts, r.texts.size());
  return texts;
}

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
    return m && m->perplexity.bits_per_byte.value > 0
               ? with_error(m->perplexity.bits_per_byte.value, m->perplexity.bits_per_byte.error, 4)
               : "";
  });
  if (!divergence) return;
  facts.add(cat("KL from ", divergence->against, ", nats a token"), [&](const EvalResult& r) {
    const TextMeasure* m = measure_at(r, text);
    return m && m->divergence ? cat(kl_sign(*m->divergence),
                                    with_error(m->divergence->kl_mean, m->divergence->kl_error, 6))
                              : "";
  });
  facts.add("same best token", [&](const EvalResult& r) {
    const TextMeasure* m = measure_at(r, text);
    return m && m->divergence ? cat(fixed(100 * m->divergence->same_top1, 2), "\xC2\xA0%") : "";
  });
}

std::string side_by_side(const std::vector<EvalResult>& results) {
  Facts facts(results);
  facts.add("engine", [](const EvalResult& r) { return r.engine; });
  facts.add("file", [](const EvalResult& r) {
    return r.bytes > 0 ? human_bytes(static_cast<double>(r.bytes)) : "";
  });
  facts.add("parameters", [](const EvalResult& r) {
    return r.parameters > 0 ? cat(fixed(static_cast<double>(r.parameters) / 1e6, 1), " M") : "";
  });
  facts.add("bits a weight, everything counted",
            [](const EvalResult& r) { return positive(r.bits_per_weight, 3); });
  facts.add("bits a weight, quantized matrices alone",
            [](const EvalResult& r) { return positive(r.bits_per_weight_matrices, 3); });
  for (std::size_t t = 0; t < text_count(results); ++t) add_text_facts(facts, results, t);
  facts.add("prompt, tokens a second",
            [](const EvalResult& r) { return positive(r.prompt_tokens_per_second, 1); });
  facts.add("generation, tokens a second",
            [](const EvalResult& r) { return positive(r.decode_tokens_per_second, 1); });
  return facts.html();
}

Table models_table(const std::vector<EvalResult>& results) {
  Table t{
      {"model", "size", "bits/weight", "matrices alone", "prompt tok/s", "decode tok/s", "engine"},
      {}};
  for (const EvalResult& r : results)
    t.rows.push_back({r.model, r.bytes > 0 ? human_bytes(static_cast<double>(r.bytes)) : "-",
                      positive(r.bits_per_weight, 3), positive(r.bits_per_weight_matrices, 3),
                      positive(r.prompt_tokens_per_second, 1),
                      positive(r.decode_tokens_per_second, 1), r.engine});
  return t;
}

Table text_measures(const std::vector<EvalResult>& results, std::size_t text) {
  Table t{{"model", "bits/weight", "perplexity", "\xC2\xB1", "KL", "\xC2\xB1", "same top-1"}, {}};
  const auto labels = labels_of(results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const EvalResult& r = results[i];
    const TextMeasure* m = measure_at(r, text);
    const DivergenceResult* d = m && m->divergence ? &*m->divergence : nullptr;
    t.rows.push_back({labels[i], positive(r.bits_per_weight, 3),
                      m ? fixed(m->perplexity.value, 4) : "-",
                      m ? or_dash(m->perplexity.error, 4) : "-",
                      d ? cat(kl_sign(*d), fixed(d->kl_mean, 6)) : "-",
                      d ? or_dash(d->kl_error, 6) : "-", d ? fixed(d->same_top1, 4) : "-"});
  }
  return t;
}

/// For many models: one table a text, then what belongs to the models alone.
std::string row_a_model(const std::vector<EvalResult>& results) {
  std::string out;
  for (std::size_t t = 0; t < text_count(results); ++t)
    for (const EvalResult& r : results)
      if (const TextMeasure* m = measure_at(r, t)) {
        out += cat("<p class=\"title\">", escape_html(protocol_text(m->perplexity)), "</p>",
                   text_measures(results, t).html());
        break;
      }
  return cat(out, "<p class=\"title\">Models</p>", models_table(results).html());
}

}  // namespace

std::string results_section(const std::vector<EvalResult>& results) {
  if (results.empty()) return "";
  return cat("<h2>Results</h2>\n",
             results.size() <= kSideBySide ? side_by_side(results) : row_a_model(results), "\n");
}

std::string pareto_section(const std::vector<EvalResult>& results) {
  std::vector<ParetoPoint> points;
  const auto names = labels_of(results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const EvalResult& r = results[i];
    points.push_back({names[i], static_cast<double>(r.bytes), {}, {}, r.decode_tokens_per_second});
    if (r.texts.empty() || !r.texts[0].divergence) continue;
    points.back().kl = r.texts[0].divergence->kl_mean;
    points.back().kl_error = r.texts[0].divergence->kl_error;
  }
  return pareto_charts_section(points);
}

}  // namespace cupel::eval
