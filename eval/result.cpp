// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/result.h"

#include "base/cat.h"
#include "eval/table.h"

namespace cupel::eval {

namespace {

std::string or_dash(double value, int digits) {
  return value > 0 ? fixed(value, digits) : "-";
}

std::string or_dash(const std::optional<double>& value, int digits) {
  return value ? fixed(*value, digits) : "-";
}

/// A lower bound says so: ">=0.4711".
std::string kl_text(const DivergenceResult& d) {
  return cat(d.kept_tokens > 0 ? ">=" : "", fixed(d.kl_mean, 6));
}

Table table_of(const std::vector<EvalResult>& results) {
  Table t{{"model", "engine", "size", "bits/weight", "perplexity", "+-", "KL", "+-", "same top-1",
           "prompt tok/s", "decode tok/s"},
          {}};
  for (const EvalResult& r : results) {
    std::vector<std::string> row = {r.model, r.engine,
                                    r.bytes > 0 ? human_bytes(static_cast<double>(r.bytes)) : "-",
                                    or_dash(r.bits_per_weight, 3)};
    const TextMeasure* m = r.texts.empty() ? nullptr : &r.texts.front();
    row.push_back(m ? fixed(m->perplexity.value, 4) : "-");
    row.push_back(m ? or_dash(m->perplexity.error, 3) : "-");
    const bool d = m && m->divergence;
    row.push_back(d ? kl_text(*m->divergence) : "-");
    row.push_back(d ? or_dash(m->divergence->kl_error, 6) : "-");
    row.push_back(d ? fixed(m->divergence->same_top1, 4) : "-");
    row.push_back(or_dash(r.prompt_tokens_per_second, 1));
    row.push_back(or_dash(r.decode_tokens_per_second, 1));
    t.rows.push_back(std::move(row));
  }
  return t;
}

}  // namespace

std::string text_table(const std::vector<EvalResult>& results) {
  return table_of(results).text();
}
std::string markdown_table(const std::vector<EvalResult>& results) {
  return table_of(results).markdown();
}

}  // namespace cupel::eval
