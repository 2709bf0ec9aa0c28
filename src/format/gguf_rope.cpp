// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/gguf_rope.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/error.h"
#include "format/checkpoint_kinds.h"
#include "format/rope.h"

namespace cupel::format {
namespace {

using Json = nlohmann::ordered_json;

/// One divisor per pair.
std::vector<float> divisors_of(const TensorEntry& t, int64_t pairs) {
  CUPEL_CHECK(t.elements() == pairs, data, "tensor '", t.name, "' has ", t.elements(),
              " elements, ", pairs, " expected");
  std::vector<float> out(static_cast<std::size_t>(pairs));
  to_float(t.type, t.bytes, out);
  check_finite(out, t.name);
  for (const float x : out)
    CUPEL_CHECK(x > 0, data, "tensor '", t.name, "' holds ", x, ", positive factors expected");
  return out;
}

/// The double with the same shortest decimal form: 1.08f becomes 1.08.
double decimal(float value) {
  char text[64];
  double out = value;
  std::from_chars(text, std::to_chars(text, text + sizeof text, value).ptr, out);
  return out;
}

bool follows(const Rope& rope, const std::vector<double>& plain, std::span<const float> divisors) {
  const auto scaled = rope_frequencies(rope, 2 * static_cast<int64_t>(plain.size()));
  for (std::size_t i = 0; i < plain.size(); ++i)
    if (std::abs(plain[i] / scaled[i] / static_cast<double>(divisors[i]) - 1) > 1e-5) return false;
  return true;
}

/// Contexts that could lie behind the divisors: of a mixed pair the share that is not stretched
/// gives it, else (no pair is mixed) only its magnitude counts.
std::vector<int64_t> possible_contexts(const Rope& rope, const std::vector<double>& plain,
                                       std::span<const float> divisors) {
  std::vector<int64_t> out;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double kept =
        (1 / static_cast<double>(divisors[i]) - 1 / rope.factor) / (1 - 1 / rope.factor);
    if (kept < 1e-3 || kept > 1 - 1e-3) continue;
    const double turns =
        rope.low_freq_factor + kept * (rope.high_freq_factor - rope.low_freq_factor);
    out.push_back(std::llround(turns * 2 * std::numbers::pi / plain[i]));
  }
  for (int64_t positions = 1; positions <= 1 << 20; positions *= 2) out.push_back(positions);
  return out;
}

/// Llama 3's scaling reaches GGUF only as one divisor per frequency; the numbers behind them are
/// found again.
Json llama3_scaling(double theta, int64_t dims, const TensorEntry& t) {
  const auto divisors = divisors_of(t, dims / 2);
  Rope rope{.theta = theta};
  const auto plain = rope_frequencies(rope, dims);
  rope.factor = static_cast<double>(*std::ranges::max_element(divisors));
  if (rope.factor == 1 && *std::ranges::min_element(divisors) == 1) return {};
  rope.type = "llama3";
  if (rope.factor > 1)
    for (const int64_t positions : possible_contexts(rope, plain, divisors)) {
      rope.original_positions = positions;
      if (positions > 0 && follows(rope, plain, divisors))
        return {{"rope_type", "llama3"},
                {"factor", rope.factor},
                {"low_freq_factor", rope.low_freq_factor},
                {"high_freq_factor", rope.high_freq_factor},
                {"original_max_position_embeddings", positions}};
    }
  fail(Fault::data, "tensor '", t.name,
       "' does not follow Llama 3's rule; this kind of rope scaling is not supported");
}

Json factor_list(const GgufKeys& keys, const char* name, int64_t pairs) {
  const TensorEntry* t = keys.file().find(name);
  CUPEL_CHECK(t, data, "the tensor '", name, "' is missing, which rope scaling 'longrope' needs");
  Json out = Json::array();
  for (const float x : divisors_of(*t, pairs)) out.push_back(decimal(x));
  return out;
}

Json longrope_scaling(GgufKeys& keys, const GgufRopeContext& context, Json& json) {
  const int64_t original = keys.integer("rope.scaling.original_context_length");
  json["original_max_position_embeddings"] = original;
  Json out = {{"type", "longrope"},
              {"short_factor", factor_list(keys, kShortFactors, context.dims / 2)},
              {"long_factor", factor_list(keys, kLongFactors, context.dims / 2)}};
  const double stretch = static_cast<double>(context.max_positions) / static_cast<double>(original);
  keys.real("rope.scaling.factor", stretch);  // the ratio of the contexts decides
  const double usual =
      rope_magnitude({.type = "longrope", .factor = stretch, .original_positions = original});
  const double stored = keys.real("rope.scaling.attn_factor", usual);
  if (std::abs(stored / usual - 1) > 1e-5) out["attention_factor"] = stored;
  return out;
}

Json yarn_scaling(GgufKeys& keys, const GgufRopeContext& context) {
  Json out = {{"rope_type", "yarn"}, {"factor", keys.real("rope.scaling.factor")}};
  out["original_max_position_embeddings"] =
      keys.integer("rope.scaling.original_context_length", context.max_positions);
  CUPEL_CHECK(keys.real("rope.scaling.yarn_ext_factor", 1) == 1, data,
              "yarn with a share of extrapolation (rope.scaling.yarn_ext_factor) other than 1 is "
              "not supported");
  if (keys.has("rope.scaling.yarn_attn_factor"))
    out["attention_factor"] = keys.real("rope.scaling.yarn_attn_factor");
  if (keys.has("rope.scaling.yarn_beta_fast"))
    out["beta_fast"] = keys.real("rope.scaling.yarn_beta_fast");
  if (keys.has("rope.scaling.yarn_beta_slow"))
    out["beta_slow"] = keys.real("rope.scaling.yarn_beta_slow");
  if (keys.has("rope.scaling.yarn_log_multiplier")) {
    // 0.1 mscale_all_dim; the files do not say mscale, which equals it in every released model.
    const double m = std::round(keys.real("rope.scaling.yarn_log_multiplier") * 1e7) / 1e6;
    out["mscale"] = out["mscale_all_dim"] = m;
  }
  if (!context.truncate) out["truncate"] = false;
  return out;
}

/// Files without a type but with a factor mean "linear".
Json linear_scaling(GgufKeys& keys) {
  const double old_factor = keys.real("rope.scale_linear", 1);
  const double factor = keys.real("rope.scaling.factor", old_factor);
  if (factor == 1) return {};
  return {{"rope_type", "linear"}, {"factor", factor}};
}

}  // namespace

void gguf_rope(GgufKeys& keys, const GgufRopeContext& context, Json& json) {
  const double theta = keys.real("rope.freq_base", 10000);
  const bool factors = keys.file().find(kLongFactors) || keys.file().find(kShortFactors);
  const std::string type = keys.text("rope.scaling.type", factors ? "longrope" : "linear");
  json["rope_theta"] = theta;
  Json scaling;
  if (type == "longrope") {
    scaling = longrope_scaling(keys, context, json);
  } else if (type == "yarn") {
    scaling = yarn_scaling(keys, context);
  } else {
    CUPEL_CHECK(type == "linear" || type == "none", data, "rope scaling '", type,
                "' is not supported (known: none, linear, yarn, longrope)");
    scaling = linear_scaling(keys);
    CUPEL_CHECK(type == "linear" || scaling.is_null(), data,
                "rope.scaling.type is 'none', but there is a factor");
  }
  CUPEL_CHECK(type == "longrope" || !factors, data, "'", kLongFactors,
              "' together with rope scaling '", type, "' is not supported");
  if (const TensorEntry* t = keys.file().find(kRopeDivisors)) {
    CUPEL_CHECK(scaling.is_null(), data, "'", kRopeDivisors, "' together with rope scaling '", type,
                "' is not supported");
    scaling = llama3_scaling(theta, context.dims, *t);
  }
  if (!scaling.is_null()) json["rope_scaling"] = scaling;
}

}  // namespace cupel::format
