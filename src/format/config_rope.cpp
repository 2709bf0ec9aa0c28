// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The rope keys of config.json. transformers 5 writes `rope_parameters`, flat or by layer type; 4
// wrote `rope_theta` beside `rope_scaling`. Where both are present the newer wins.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/config_keys.h"

namespace cupel::format {
namespace {

using Json = ConfigKeys::Json;
using Keys = ConfigKeys;

struct Ropes {
  Rope all;
  std::optional<Rope> local;
  friend bool operator==(const Ropes&, const Ropes&) = default;
};

/// What the top level of the config says about every rope.
struct Context {
  int64_t head_dim = 0, max_positions = 0;
  int64_t original_positions = 0;  ///< 0: not said
  double partial = 1;
};

void set_partial(Rope& rope, double share, int64_t head_dim) {
  CUPEL_CHECK(share <= 1, data, "config.json: partial_rotary_factor ", share, " is above 1");
  if (share < 1) rope.dim = static_cast<int64_t>(static_cast<double>(head_dim) * share);
}

std::vector<double> factors(Keys& keys, const char* key) {
  const Json* list = keys.get(key);
  CUPEL_CHECK(list && list->is_array(), data, keys.where(), " has no list '", key, "'");
  std::vector<double> out;
  for (const Json& x : *list) {
    CUPEL_CHECK(x.is_number() && x > 0, data, keys.where(), ": an entry of '", key,
                "' is not a positive number");
    out.push_back(x.get<double>());
  }
  return out;
}

void read_original(Keys& keys, const Context& context, Rope& rope) {
  rope.original_positions = context.max_positions;
  keys.integer("original_max_position_embeddings", rope.original_positions,
               context.original_positions > 0 ? context.original_positions : context.max_positions);
  if (context.original_positions > 0) rope.original_positions = context.original_positions;
  rope.factor =
      static_cast<double>(context.max_positions) / static_cast<double>(rope.original_positions);
}

void read_attention_factor(Keys& keys, Rope& rope) {
  double factor = 0;
  keys.optional_real("attention_factor", factor);
  if (factor > 0) rope.attention_factor = factor;
}

void read_yarn(Keys& keys, const Context& context, Rope& rope) {
  read_original(keys, context, rope);
  CUPEL_CHECK(keys.get("factor") || rope.factor != 1, data, keys.where(),
              ": yarn has no 'factor', and the context is not longer than the original one");
  keys.real("factor", rope.factor, rope.factor);
  keys.real("beta_fast", rope.beta_fast, 32);
  keys.real("beta_slow", rope.beta_slow, 1);
  keys.flag("truncate", rope.truncate, true);
  keys.optional_real("mscale", rope.mscale);
  keys.optional_real("mscale_all_dim", rope.mscale_all_dim);
  read_attention_factor(keys, rope);
}

void read_longrope(Keys& keys, const Context& context, Rope& rope) {
  read_original(keys, context, rope);
  const double stretch = rope.factor;
  keys.real("factor", rope.factor, stretch);
  if (context.original_positions > 0) rope.factor = stretch;
  rope.short_factor = factors(keys, "short_factor");
  rope.long_factor = factors(keys, "long_factor");
  read_attention_factor(keys, rope);
  const auto pairs = static_cast<std::size_t>((rope.dim > 0 ? rope.dim : context.head_dim) / 2);
  CUPEL_CHECK(rope.short_factor.size() == pairs && rope.long_factor.size() == pairs, data,
              keys.where(), ": ", rope.short_factor.size(), " short and ", rope.long_factor.size(),
              " long factors, ", pairs, " of each expected");
}

/// One set of parameters, on top of what is known already.
Rope read_one(const Json& object, Rope rope, const Context& context) {
  CUPEL_CHECK(object.is_object(), data, "config.json: the rope parameters are not an object");
  Json copy = object;
  Keys keys(copy, Keys::Mode::read, "config.json's rope parameters");
  keys.choice({"rope_type", "type"}, rope.type, "default");
  if (rope.type == "su" || (rope.type == "yarn" && copy.contains("long_factor")))
    rope.type = "longrope";  // Phi-3's first names
  check_rope_type(rope.type);
  keys.real("rope_theta", rope.theta, rope.theta);
  double partial = context.partial;
  keys.real("partial_rotary_factor", partial, partial);
  set_partial(rope, partial, context.head_dim);
  if (rope.type == "linear" || rope.type == "dynamic" || rope.type == "llama3")
    keys.real("factor", rope.factor);
  if (rope.type == "dynamic") rope.original_positions = context.max_positions;
  if (rope.type == "llama3") {
    keys.real("low_freq_factor", rope.low_freq_factor);
    keys.real("high_freq_factor", rope.high_freq_factor);
    keys.integer("original_max_position_embeddings", rope.original_positions);
  }
  if (rope.type == "yarn") read_yarn(keys, context, rope);
  if (rope.type == "longrope") read_longrope(keys, context, rope);
  keys.harmless({"original_max_position_embeddings"});
  if (rope.type == "default") return rope;
  for (const std::string& key : keys.unused())
    CUPEL_CHECK(copy[key].is_null(), data, "config.json: the rope parameter '", key,
                "' is not supported for type ", rope.type);
  return rope;
}

Ropes read_ropes(Keys& keys, const ModelConfig& config, const FamilyDefaults& defaults) {
  const Json* v5 = keys.get("rope_parameters");
  const Json* v4 = keys.get("rope_scaling");
  Context context{config.head_dim, config.max_positions, 0, 1};
  const auto number = [&](const char* key, double otherwise) {
    const Json* value = keys.get(key);
    CUPEL_CHECK(!value || (value->is_number() && *value > 0), data, keys.where(), ": '", key,
                "' is not a positive number");
    return value ? value->get<double>() : otherwise;
  };
  context.partial = number("partial_rotary_factor", 1);
  context.original_positions = static_cast<int64_t>(number("original_max_position_embeddings", 0));
  const double local_theta = number("rope_local_base_freq", defaults.local_theta);
  Rope base;
  base.theta = number("rope_theta", defaults.theta);
  Ropes ropes;
  if (v5 && (v5->contains("full_attention") || v5->contains("sliding_attention"))) {
    const auto of = [&](const char* type) {
      return v5->contains(type) ? read_one((*v5)[type], base, context) : base;
    };
    ropes = {of("full_attention"), of("sliding_attention")};
    if (*ropes.local == ropes.all) ropes.local.reset();
    return ropes;
  }
  if (v5 && v4 && !keys.writing())
    keys.notes.push_back(
        "config.json has both rope_parameters and rope_scaling: the former is used");
  ropes.all = read_one(v5 ? *v5 : v4 ? *v4 : Json::object(), base, context);
  if (local_theta > 0) {
    ropes.local = Rope();
    ropes.local->theta = local_theta;
    ropes.local->dim = ropes.all.dim;
  }
  return ropes;
}

Json scaling_json(const Rope& rope, const ModelConfig& config) {
  Json out = Json::object();
  if (rope.dim > 0)
    out["partial_rotary_factor"] =
        static_cast<double>(rope.dim) / static_cast<double>(config.head_dim);
  if (rope.type == "default") return out;
  out["rope_type"] = rope.type;
  out["factor"] = rope.factor;
  if (rope.type != "linear" && rope.type != "dynamic")
    out["original_max_position_embeddings"] = rope.original_positions;
  if (rope.type == "llama3") {
    out["low_freq_factor"] = rope.low_freq_factor;
    out["high_freq_factor"] = rope.high_freq_factor;
  }
  if (rope.type == "yarn") {
    out["beta_fast"] = rope.beta_fast;
    out["beta_slow"] = rope.beta_slow;
    if (!rope.truncate) out["truncate"] = false;
    if (rope.mscale != 0) out["mscale"] = rope.mscale;
    if (rope.mscale_all_dim != 0) out["mscale_all_dim"] = rope.mscale_all_dim;
  }
  if (rope.type == "longrope") {
    out["short_factor"] = rope.short_factor;
    out["long_factor"] = rope.long_factor;
  }
  if (rope.attention_factor) out["attention_factor"] = *rope.attention_factor;
  return out;
}

void write_ropes(Keys& keys, const ModelConfig& config, const Ropes& ropes) {
  const Json scaling = scaling_json(ropes.all, config);
  if (keys.get("rope_parameters")) keys.erase("rope_parameters");
  keys.set("rope_theta", ropes.all.theta);
  keys.set("rope_scaling", scaling.contains("rope_type") ? scaling : Json());
  if (ropes.all.dim > 0) keys.set("partial_rotary_factor", scaling["partial_rotary_factor"]);
  if (ropes.local) keys.set("rope_local_base_freq", ropes.local->theta);
}

}  // namespace

void rope_keys(ConfigKeys& keys, ModelConfig& config, const FamilyDefaults& defaults) {
  const Ropes found = read_ropes(keys, config, defaults);
  if (!keys.writing()) {
    config.rope = found.all;
    config.local_rope = found.local;
    return;
  }
  const Ropes wanted{config.rope, config.local_rope};
  if (keys.fresh() || !(found == wanted)) write_ropes(keys, config, wanted);
}

}  // namespace cupel::format
