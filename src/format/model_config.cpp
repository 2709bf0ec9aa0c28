// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "format/architecture.h"
#include "format/checkpoint_kinds.h"

namespace cupel::format {
namespace {

using Json = nlohmann::ordered_json;

/// Keys without effect on the forward pass.
constexpr std::string_view kHarmless[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_from_model_config",
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "dtype",
    "eos_token_id",
    "finetuning_task",
    "hidden_dropout",
    "id2label",
    "initializer_range",
    "is_decoder",
    "is_encoder_decoder",
    "is_llama_config",
    "label2id",
    "model_type",
    "num_labels",
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "pad_token_id",
    "pretraining_tp",
    "problem_type",
    "return_dict",
    "return_dict_in_generate",
    "task_specific_params",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
};
/// A key that contains one of these and is not known could change the result.
constexpr std::string_view kMaths[] = {
    "rope",      "rotary",     "scale",  "scaling",  "norm",         "cap",
    "clip",      "multiplier", "window", "router",   "expert",       "bias",
    "attention", "attn",       "gate",   "position", "quantization", "auto_map",
};

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80);
}

/// An object whose keys are ticked off as they are used; null counts as absent.
class Keys {
 public:
  Keys(const Json& object, std::string_view where) : object_(object), where_(where) {}

  const Json* get(const char* key) {
    used_.insert(key);
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  int64_t integer(const char* key, std::optional<int64_t> otherwise = std::nullopt) {
    const Json* value = get(key);
    if (!value && otherwise) return *otherwise;
    constexpr int64_t kMost = int64_t{1} << 31;
    CUPEL_CHECK(value, data, where_, " has no '", key, "'");
    CUPEL_CHECK(value->is_number_integer() && *value >= 1 && *value <= kMost, data, where_, ": '",
                key, "' is ", shown(*value), ", a positive integer expected");
    return value->get<int64_t>();
  }
  double positive(const char* key, std::optional<double> otherwise = std::nullopt) {
    const Json* value = get(key);
    if (!value && otherwise) return *otherwise;
    CUPEL_CHECK(value, data, where_, " has no '", key, "'");
    CUPEL_CHECK(value->is_number() && value->get<double>() > 0, data, where_, ": '", key, "' is ",
                shown(*value), ", a positive number expected");
    return value->get<double>();
  }
  bool flag(const char* key, bool otherwise) {
    const Json* value = get(key);
    if (!value) return otherwise;
    CUPEL_CHECK(value->is_boolean(), data, where_, ": '", key, "' is ", shown(*value),
                ", true or false expected");
    return value->get<bool>();
  }
  std::string text(const char* key, const std::string& otherwise) {
    const Json* value = get(key);
    if (!value) return otherwise;
    CUPEL_CHECK(value->is_string(), data, where_, ": '", key, "' is ", shown(*value),
                ", a string expected");
    return value->get<std::string>();
  }
  /// The feature behind `key` exists in one form only.
  void only(const char* key, const Json& value) {
    if (const Json* found = get(key))
      CUPEL_CHECK(*found == value, data, where_, ": '", key, "' is ", shown(*found),
                  ", which is not supported (only ", shown(value), ")");
  }
  std::vector<std::string> unused() const {
    std::vector<std::string> out;
    for (const auto& [key, value] : object_.items())
      if (!used_.contains(key)) out.push_back(key);
    return out;
  }

 private:
  const Json& object_;
  std::string where_;
  std::set<std::string> used_;
};

Json parse_config(std::string_view text) {
  try {
    Json json = Json::parse(plain_json(text));
    CUPEL_CHECK(json.is_object(), data, "config.json is not an object");
    return json;
  } catch (const Json::exception& e) {
    fail(Fault::data, "config.json is not valid JSON: ", e.what());
  }
}

/// v5 writes `rope_parameters`, v4 `rope_theta` beside `rope_scaling`; where both are present v5's
/// wins.
Rope read_rope(Keys& config, double default_theta) {
  const Json* v5 = config.get("rope_parameters");
  const Json* v4 = config.get("rope_scaling");
  Rope rope;
  rope.theta = config.positive("rope_theta", default_theta);
  const Json* object = v5 ? v5 : v4;
  if (!object) return rope;
  CUPEL_CHECK(object->is_object(), data, "config.json: the rope parameters are not an object");
  Keys keys(*object, "config.json's rope parameters");
  const std::string old_name = keys.text("type", "default");
  rope.type = keys.text("rope_type", old_name);
  rope.theta = keys.positive("rope_theta", rope.theta);
  keys.only("partial_rotary_factor", 1.0);
  const bool scaled = rope.type != "default";
  if (scaled) rope.factor = keys.positive("factor");
  if (rope.type == "llama3") {
    rope.low_freq_factor = keys.positive("low_freq_factor");
    rope.high_freq_factor = keys.positive("high_freq_factor");
    rope.original_positions = keys.integer("original_max_position_embeddings");
  } else if (scaled) {
    keys.get("original_max_position_embeddings");  // some exporters write it; linear has no use
  }
  rope_frequencies(rope, 2);  // refuses an unknown type
  if (scaled)
    for (const std::string& key : keys.unused())
      CUPEL_CHECK((*object)[key].is_null(), data, "config.json: the rope parameter '", key,
                  "' is not supported for type ", rope.type);
  return rope;
}

void check_sizes(const ModelConfig& c) {
  CUPEL_CHECK(c.heads % c.kv_heads == 0, data, "config.json: ", c.heads,
              " attention heads are not a multiple of ", c.kv_heads, " key/value heads");
  CUPEL_CHECK(c.head_dim % 2 == 0, data, "config.json: head_dim ", c.head_dim,
              " is odd, rotary embedding needs pairs");
  CUPEL_CHECK(c.layers <= 100'000 && c.heads <= 100'000 && c.head_dim <= 100'000, data,
              "config.json: impossible sizes (", c.layers, " layers, ", c.heads, " heads of ",
              c.head_dim, ")");
}

const Architecture& architecture_of(Keys& keys) {
  if (const std::string type = keys.text("model_type", ""); !type.empty())
    return architecture_of_model_type(type);
  const Json* classes = keys.get("architectures");
  const bool named =
      classes && classes->is_array() && !classes->empty() && classes->front().is_string();
  CUPEL_CHECK(named, data, "config.json has neither model_type nor architectures");
  for (const Architecture& a : architectures())
    if (classes->front() == a.class_name) return a;
  fail(Fault::data, "config.json: class ", shown(classes->front()), " is not supported");
}

void report_unused(const Json& config, const Keys& keys, std::vector<std::string>* notes) {
  for (const std::string& key : keys.unused()) {
    if (std::find(std::begin(kHarmless), std::end(kHarmless), key) != std::end(kHarmless)) continue;
    const Json& value = config[key];
    const bool off = value.is_null() || value == false;
    const bool maths = std::any_of(std::begin(kMaths), std::end(kMaths), [&](std::string_view w) {
      return key.find(w) != std::string::npos;
    });
    CUPEL_CHECK(off || !maths, data, "config.json: '", key, "' is ", shown(value),
                ", a feature that is not supported");
    if (notes) notes->push_back(cat("config.json: unknown key '", key, "' ignored"));
  }
}

/// Lists with one entry per layer, from a config that is rewritten for fewer layers.
void resize_layer_lists(Json& config, int64_t before, int64_t after) {
  for (auto& [key, value] : config.items()) {
    if (!value.is_array() || static_cast<int64_t>(value.size()) != before || value.empty() ||
        key == "architectures" || key == "eos_token_id")
      continue;
    const bool uniform =
        std::all_of(value.begin(), value.end(), [&](const Json& v) { return v == value.front(); });
    CUPEL_CHECK(uniform, data, "config.json: '", key,
                "' differs from layer to layer; it cannot be "
                "rewritten for ",
                after, " layers");
    value = Json(static_cast<std::size_t>(after), value.front());
  }
}

void write_rope(Json& config, const Rope& rope) {
  Json scaling = Json::object();
  if (rope.type != "default") {
    scaling["rope_type"] = rope.type;
    scaling["factor"] = rope.factor;
  }
  if (rope.type == "llama3") {
    scaling["low_freq_factor"] = rope.low_freq_factor;
    scaling["high_freq_factor"] = rope.high_freq_factor;
    scaling["original_max_position_embeddings"] = rope.original_positions;
  }
  if (config.contains("rope_parameters")) {
    if (scaling.empty()) scaling["rope_type"] = "default";
    scaling["rope_theta"] = rope.theta;
    config["rope_parameters"] = scaling;
    if (config.contains("rope_theta")) config["rope_theta"] = rope.theta;
    if (config.contains("rope_scaling")) config.erase("rope_scaling");
    return;
  }
  config["rope_theta"] = rope.theta;
  config["rope_scaling"] = scaling.empty() ? Json() : scaling;
}

bool same(const Rope& a, const Rope& b) {
  return a.type == b.type && a.theta == b.theta && a.factor == b.factor &&
         a.low_freq_factor == b.low_freq_factor && a.high_freq_factor == b.high_freq_factor &&
         a.original_positions == b.original_positions;
}

}  // namespace

std::string plain_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    if (quoted && text[i] == '\\' && i + 1 < text.size())
      out += text[i++];
    else if (text[i] == '"')
      quoted = !quoted;
    std::size_t special = 0;
    if (!quoted)
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
        if (text.substr(i).starts_with(word)) special = word.size();
    if (special > 0)
      out += "null";
    else
      out += text[i];
    i += std::max<std::size_t>(special, 1);
  }
  return out;
}

ModelConfig config_from_json(std::string_view text, std::vector<std::string>* notes) {
  const Json json = parse_config(text);
  Keys keys(json, "config.json");
  const Architecture& arch = architecture_of(keys);
  ModelConfig c;
  c.family = arch.family;
  c.vocab = keys.integer("vocab_size");
  c.hidden = keys.integer("hidden_size");
  c.layers = keys.integer("num_hidden_layers");
  c.heads = keys.integer("num_attention_heads");
  c.kv_heads = keys.integer("num_key_value_heads", c.heads);
  c.intermediate = keys.integer("intermediate_size");
  c.max_positions = keys.integer("max_position_embeddings", 2048);
  c.norm_eps = keys.positive("rms_norm_eps", arch.default_eps);
  c.tied_head = keys.flag("tie_word_embeddings", arch.default_tied);
  if (!keys.get("head_dim"))
    CUPEL_CHECK(c.hidden % c.heads == 0, data, "config.json: hidden_size ", c.hidden,
                " is not a multiple of ", c.heads, " heads, and head_dim is not given");
  c.head_dim = keys.integer("head_dim", c.hidden / c.heads);
  c.rope = read_rope(keys, arch.default_theta);
  check_sizes(c);

  const std::string activation = keys.text("hidden_act", arch.activation);
  CUPEL_CHECK(activation == arch.activation || (activation == "swish" && c.family == "llama"), data,
              "config.json: hidden_act '", activation, "' is not supported (only ", arch.activation,
              ")");
  keys.only("attention_bias", false);
  keys.only("mlp_bias", false);
  keys.only("rope_interleaved", false);
  keys.only("partial_rotary_factor", 1.0);
  if (const Json* types = keys.get("layer_types"))
    CUPEL_CHECK(
        types->is_array() && std::all_of(types->begin(), types->end(),
                                         [](const Json& t) { return t == "full_attention"; }),
        data, "config.json: layer_types other than full_attention are not supported");
  report_unused(json, keys, notes);
  return c;
}

std::string config_to_json(const ModelConfig& c, std::string_view original_json) {
  const Architecture& arch = c.architecture();
  Json json = original_json.empty() ? Json::object() : parse_config(original_json);
  if (!json.contains("architectures")) json["architectures"] = {arch.class_name};
  if (!json.contains("model_type")) json["model_type"] = arch.model_types.front();
  const int64_t layers_before = json.value("num_hidden_layers", c.layers);
  if (layers_before != c.layers) resize_layer_lists(json, layers_before, c.layers);
  const std::pair<const char*, int64_t> sizes[] = {{"vocab_size", c.vocab},
                                                   {"hidden_size", c.hidden},
                                                   {"intermediate_size", c.intermediate},
                                                   {"num_hidden_layers", c.layers},
                                                   {"num_attention_heads", c.heads},
                                                   {"num_key_value_heads", c.kv_heads},
                                                   {"head_dim", c.head_dim},
                                                   {"max_position_embeddings", c.max_positions}};
  for (const auto& [key, value] : sizes) json[key] = value;
  json["rms_norm_eps"] = c.norm_eps;
  json["hidden_act"] = arch.activation;
  json["tie_word_embeddings"] = c.tied_head;
  Keys keys(json, "config.json");
  if ((!json.contains("rope_theta") && !json.contains("rope_parameters")) ||
      !same(read_rope(keys, arch.default_theta), c.rope))
    write_rope(json, c.rope);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cupel::format
