// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/architecture.h"
#include "format/checkpoint_kinds.h"
#include "format/config_keys.h"

namespace cupel::format {
namespace {

using Json = ConfigKeys::Json;

constexpr int kDeepest = 100;  // writing JSON recurses

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
    "use_mrope",
};
/// A key that contains one of these and is not known could change the result.
constexpr std::string_view kMaths[] = {
    "rope",      "rotary",     "scale",  "scaling",  "norm",         "cap",
    "clip",      "multiplier", "window", "router",   "expert",       "bias",
    "attention", "attn",       "gate",   "position", "quantization", "auto_map",
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

/// The part of a config that is about text, in wrappers that see or hear as well.
Json& text_part(Json& config) {
  const auto inner = config.find("text_config");
  if (inner == config.end() || !inner->is_object()) return config;
  if (!inner->contains("tie_word_embeddings") && config.contains("tie_word_embeddings"))
    (*inner)["tie_word_embeddings"] = config["tie_word_embeddings"];
  if (!inner->contains("quantization_config") && config.contains("quantization_config"))
    (*inner)["quantization_config"] = config["quantization_config"];
  return *inner;
}

const Architecture& architecture_of(ConfigKeys& keys) {
  if (const Json* type = keys.get("model_type"); type && type->is_string())
    return architecture_of_family(type->get<std::string>());
  const Json* classes = keys.get("architectures");
  const bool named =
      classes && classes->is_array() && !classes->empty() && classes->front().is_string();
  CUPEL_CHECK(named, data, "config.json has neither model_type nor architectures");
  for (const Architecture& a : architectures())
    if (classes->front() == a.class_name) return a;
  fail(Fault::data, "config.json: class ", classes->front().dump(), " is not supported");
}

void report_unused(const Json& config, const ConfigKeys& keys, std::vector<std::string>* notes) {
  for (const std::string& key : keys.unused()) {
    if (std::find(std::begin(kHarmless), std::end(kHarmless), key) != std::end(kHarmless)) continue;
    const Json& value = config[key];
    const bool off = value.is_null() || value == false;
    const bool maths = std::any_of(std::begin(kMaths), std::end(kMaths), [&](std::string_view w) {
      return key.find(w) != std::string::npos;
    });
    CUPEL_CHECK(off || !maths, data, "config.json: '", key, "' is ",
                value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80),
                ", a feature that is not supported");
    if (notes) notes->push_back(cat("config.json: unknown key '", key, "' ignored"));
  }
}

void check_sizes(const ModelConfig& c) {
  CUPEL_CHECK(c.heads % c.kv_heads == 0, data, "config.json: ", c.heads,
              " attention heads are not a multiple of ", c.kv_heads, " key/value heads");
  CUPEL_CHECK(c.rope_dims(c.rope) % 2 == 0 && c.rope_dims(c.rope) <= c.head_dim, data,
              "config.json: ", c.rope_dims(c.rope), " of ", c.head_dim,
              " dimensions of a head cannot turn in pairs");
  CUPEL_CHECK(c.layers <= 100'000 && c.heads <= 100'000 && c.head_dim <= 100'000 &&
                  c.experts.count <= 100'000,
              data, "config.json: impossible sizes (", c.layers, " layers, ", c.heads, " heads of ",
              c.head_dim, ", ", c.experts.count, " experts)");
  CUPEL_CHECK(
      c.experts.count == 0 || (c.experts.active >= 1 && c.experts.active <= c.experts.count), data,
      "config.json: ", c.experts.active, " of ", c.experts.count, " experts cannot be active");
}

}  // namespace

std::string plain_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (!quoted) {
      depth += (text[i] == '[' || text[i] == '{') - (text[i] == ']' || text[i] == '}');
      CUPEL_CHECK(depth <= kDeepest, data, "JSON is nested more than ", kDeepest, " deep");
    }
    if (quoted && text[i] == '\\' && i + 1 < text.size())
      out += text[i++];
    else if (text[i] == '"')
      quoted = !quoted;
    std::size_t special = 0;
    if (!quoted)
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
        if (text.substr(i).starts_with(word)) special = word.size();
    if (special > 0)
      out += cat('"', text.substr(i, special), '"');
    else
      out += text[i];
    i += std::max<std::size_t>(special, 1);
  }
  return out;
}

ModelConfig config_from_json(std::string_view text, std::vector<std::string>* notes) {
  Json whole = parse_config(text);
  Json& json = text_part(whole);
  ConfigKeys keys(json, ConfigKeys::Mode::read, "config.json");
  const Architecture& arch = architecture_of(keys);
  ModelConfig c;
  c.family = arch.family;
  arch.keys(keys, c);
  keys.harmless({"quantization_config"});  // read by whoever reads the weights
  check_sizes(c);
  if (notes) notes->insert(notes->end(), keys.notes.begin(), keys.notes.end());
  report_unused(json, keys, notes);
  if (&json != &whole && notes)
    notes->push_back("the model sees or hears as well: the part for text alone is used");
  return c;
}

std::string config_to_json(const ModelConfig& config, std::string_view original_json) {
  const Architecture& arch = config.architecture();
  Json whole = original_json.empty() ? Json::object() : parse_config(original_json);
  Json& json = text_part(whole);
  ModelConfig c = config;
  ConfigKeys keys(json, ConfigKeys::Mode::write, "config.json");
  if (!json.contains("architectures")) json["architectures"] = {arch.class_name};
  if (!json.contains("model_type")) json["model_type"] = arch.family;
  arch.keys(keys, c);
  for (Json* object : {&whole, &json}) object->erase("quantization_config");  // weights are plain
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cupel::format
