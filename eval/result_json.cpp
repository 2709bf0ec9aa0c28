// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "eval/result.h"

namespace cupel::eval {

namespace {

using nlohmann::ordered_json;

/// null where a figure is unknown.
ordered_json or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

/// null for the size of a model that is not at hand.
template <class T>
ordered_json size_json(const EvalResult& r, T value) {
  return r.bytes > 0 ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json perplexity_json(const PerplexityResult& p) {
  ordered_json out = {{"file", p.file}};
  out.update(ordered_json::parse(block_list_json(p.list)));
  ordered_json list = std::move(out["block_list"]);
  out.erase("block_list");
  for (std::size_t i = 0; i < list.size() && i < p.block_nll.size(); ++i)
    list[i]["nll"] = p.block_nll[i];
  out["blocks"] = p.list.blocks.size();
  out["tokens"] = p.tokens;
  out["value"] = p.value;
  out["stderr"] = or_null(p.error);
  out["stderr_over"] = p.error_over;
  if (p.list.protocol == Protocol::words) {
    out["words"] = p.words;
    out["bytes"] = p.bytes;
    out["byte_perplexity"] = p.byte_perplexity.value;
    out["byte_perplexity_stderr"] = or_null(p.byte_perplexity.error);
    out["bits_per_byte"] = p.bits_per_byte.value;
    out["bits_per_byte_stderr"] = or_null(p.bits_per_byte.error);
  }
  out["block_nll"] = p.block_nll;
  out["block_list"] = std::move(list);
  return out;
}

ordered_json percentiles_json(const Spread& s) {
  ordered_json out = ordered_json::object();
  for (std::size_t i = 0; i < kPercentiles.size(); ++i)
    out[cat(kPercentiles[i])] = s.percentiles[i];
  return out;
}

ordered_json parts_json(const std::vector<PartDivergence>& parts) {
  ordered_json out = ordered_json::array();
  for (const PartDivergence& p : parts) {
    ordered_json part;
    if (p.from > 0)
      part = {{"from", p.from}, {"to", p.to}};
    else
      part = {{"class", p.name}};
    part.update({{"tokens", p.tokens},
                 {"kl_mean", p.kl.value},
                 {"kl_stderr", or_null(p.kl.error)},
                 {"same_top1", p.same_top1.value}});
    out.push_back(std::move(part));
  }
  return out;
}

ordered_json ratio_json(const PerplexityRatio& r) {
  return {{"reference", r.reference},
          {"model", r.model},
          {"correlation", or_null(r.correlation)},
          {"ln_ratio", r.log_ratio.value},
          {"ln_ratio_stderr", or_null(r.log_ratio.error)},
          {"ratio", r.ratio.value},
          {"ratio_stderr", or_null(r.ratio.error)},
          {"difference", r.difference.value},
          {"difference_stderr", or_null(r.difference.error)}};
}

ordered_json divergence_json(const DivergenceResult& d) {
  ordered_json out = {
      {"against", d.against},
      {"kl_over", d.kept_tokens > 0
                      ? cat("the ", d.kept_tokens, " most probable tokens and the rest as one")
                      : std::string("the vocabulary")},
      {"kl_is_lower_bound", d.kept_tokens > 0},
      {"tokens", d.tokens},
      {"kl_mean", d.kl_mean},
      {"kl_stderr", or_null(d.kl_error)},
      {"kl_median", d.kl_spread.median()},
      {"kl_p90", d.kl_spread.p90()},
      {"kl_p99", d.kl_spread.p99()},
      {"kl_min", d.kl_spread.min},
      {"kl_max", d.kl_spread.max},
      {"kl_percentiles", percentiles_json(d.kl_spread)},
      {"kl_reverse_mean", d.kl_reverse.value},
      {"kl_reverse_stderr", or_null(d.kl_reverse.error)},
      {"same_top1", d.same_top1},
      {"same_top1_stderr", or_null(d.same_top1_error)},
      {"delta_p_mean", d.delta_p.value},
      {"delta_p_stderr", or_null(d.delta_p.error)},
      {"delta_p_rms", d.delta_p_rms.value},
      {"delta_p_rms_stderr", or_null(d.delta_p_rms.error)},
      {"delta_p_min", d.delta_p_spread.min},
      {"delta_p_max", d.delta_p_spread.max},
      {"delta_p_percentiles", percentiles_json(d.delta_p_spread)}};
  if (d.perplexity) out["perplexity"] = ratio_json(*d.perplexity);
  out["by_position"] = parts_json(d.by_position);
  out["by_class"] = parts_json(d.by_class);
  return out;
}

}  // namespace

std::string to_json(const EvalResult& r, int indent) {
  ordered_json out = {{"model", r.model},
                      {"engine", r.engine},
                      {"bytes", size_json(r, r.bytes)},
                      {"parameters", size_json(r, r.parameters)},
                      {"bits_per_weight", size_json(r, r.bits_per_weight)},
                      {"bits_per_weight_matrices", size_json(r, r.bits_per_weight_matrices)},
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
  for (const TaskResult& t : r.tasks) out["tasks"][t.task] = ordered_json::parse(task_json(t));
  // A path need not be UTF-8: what isn't becomes U+FFFD.
  return out.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace cupel::eval
