// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/result.h"

#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "eval/table.h"

namespace cupel::eval {

namespace {

using nlohmann::ordered_json;

ordered_json perplexity_json(const PerplexityResult& p) {
  ordered_json out = {{"file", p.file},     {"protocol", protocol_name(p.protocol)},
                      {"length", p.length}, {"blocks", p.blocks},
                      {"tokens", p.tokens}, {"value", p.value},
                      {"stderr", p.error},  {"block_nll", p.block_nll}};
  if (p.protocol == Protocol::words) {
    out["byte_perplexity"] = p.byte_perplexity;
    out["bits_per_byte"] = p.bits_per_byte;
  }
  return out;
}

ordered_json divergence_json(const DivergenceResult& d) {
  return {{"against", d.against},
          {"tokens", d.tokens},
          {"kl_mean", d.kl_mean},
          {"kl_stderr", d.kl_error},
          {"kl_median", d.kl_median},
          {"kl_p90", d.kl_p90},
          {"kl_p99", d.kl_p99},
          {"kl_max", d.kl_max},
          {"kl_reverse_mean", d.kl_reverse_mean},
          {"same_top1", d.same_top1},
          {"delta_p_mean", d.delta_p_mean},
          {"delta_p_rms", d.delta_p_rms}};
}

std::string or_dash(double value, int digits) {
  return value > 0 ? fixed(value, digits) : "-";
}

Table table_of(const std::vector<EvalResult>& results) {
  Table t{{"model", "engine", "size", "bits/weight", "perplexity", "+-", "KL", "+-", "same top-1",
           "prompt tok/s", "decode tok/s"},
          {}};
  for (const EvalResult& r : results) {
    std::vector<std::string> row = {r.model, r.engine, human_bytes(static_cast<double>(r.bytes)),
                                    or_dash(r.bits_per_weight, 3)};
    const TextMeasure* m = r.texts.empty() ? nullptr : &r.texts.front();
    row.push_back(m ? fixed(m->perplexity.value, 4) : "-");
    row.push_back(m ? fixed(m->perplexity.error, 3) : "-");
    const bool d = m && m->divergence;
    row.push_back(d ? fixed(m->divergence->kl_mean, 6) : "-");
    row.push_back(d ? fixed(m->divergence->kl_error, 6) : "-");
    row.push_back(d ? fixed(m->divergence->same_top1, 4) : "-");
    row.push_back(or_dash(r.prompt_tokens_per_second, 1));
    row.push_back(or_dash(r.decode_tokens_per_second, 1));
    t.rows.push_back(std::move(row));
  }
  return t;
}

}  // namespace

std::string to_json(const EvalResult& r, int indent) {
  ordered_json out = {{"model", r.model},
                      {"engine", r.engine},
                      {"bytes", r.bytes},
                      {"parameters", r.parameters},
                      {"bits_per_weight", r.bits_per_weight},
                      {"bits_per_weight_matrices", r.bits_per_weight_matrices},
                      {"perplexity", ordered_json::array()},
                      {"prompt_tokens_per_second", r.prompt_tokens_per_second},
                      {"decode_tokens_per_second", r.decode_tokens_per_second}};
  for (const TextMeasure& m : r.texts) {
    out["perplexity"].push_back(perplexity_json(m.perplexity));
    // One object for one text, a list for several.
    if (!m.divergence) continue;
    if (!out.contains("divergence"))
      out["divergence"] = divergence_json(*m.divergence);
    else if (out["divergence"].is_object())
      out["divergence"] = {out["divergence"], divergence_json(*m.divergence)};
    else
      out["divergence"].push_back(divergence_json(*m.divergence));
  }
  // A path need not be UTF-8: what isn't becomes U+FFFD.
  return out.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::string text_table(const std::vector<EvalResult>& results) {
  return table_of(results).text();
}
std::string markdown_table(const std::vector<EvalResult>& results) {
  return table_of(results).markdown();
}

}  // namespace cupel::eval
