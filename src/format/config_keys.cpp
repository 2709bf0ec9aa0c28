// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/config_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cupel::format {
namespace {

using Json = ConfigKeys::Json;

constexpr int64_t kMost = int64_t{1} << 31;

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80);
}

[[noreturn]] void bad_value(const std::string& where, const char* key, const Json& value,
                            const char* wanted) {
  fail(Fault::data, where, ": '", key, "' is ", shown(value), ", ", wanted, " expected");
}

}  // namespace

ConfigKeys::ConfigKeys(Json& object, Mode mode, std::string where)
    : object_(object),
      mode_(mode),
      where_(std::move(where)),
      fresh_(!object.contains("hidden_size")) {}

const Json* ConfigKeys::get(const char* key) {
  used_.insert(key);
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

bool ConfigKeys::present(const char* key) const {
  return object_.contains(key);
}

void ConfigKeys::set(const char* key, Json value) {
  used_.insert(key);
  object_[key] = std::move(value);
}

void ConfigKeys::erase(const char* key) {
  object_.erase(key);
}

const Json* ConfigKeys::find(const KeyNames& key, const char** found) {
  const Json* result = nullptr;
  *found = key.names.front();
  for (const char* name : key.names) {
    const Json* value = get(name);
    if (!value || result) continue;
    result = value;
    *found = name;
  }
  return result;
}

template <class T, class Read>
void ConfigKeys::field(const KeyNames& key, T& value, std::optional<T> otherwise,
                       const Read& read) {
  const char* name = nullptr;
  const Json* stored = find(key, &name);
  std::optional<T> current = otherwise;
  if (stored) current = read(name, *stored);
  if (writing()) {
    if (fresh_ || !current || *current != value) set(name, value);
    return;
  }
  CUPEL_CHECK(current, data, where_, " has no '", name, "'");
  value = *current;
}

void ConfigKeys::integer(const KeyNames& key, int64_t& value, std::optional<int64_t> otherwise) {
  field<int64_t>(key, value, otherwise, [&](const char* name, const Json& v) {
    if (!v.is_number_integer() || v < 1 || v > kMost)
      bad_value(where_, name, v, "a positive integer");
    return v.get<int64_t>();
  });
}

void ConfigKeys::count(const KeyNames& key, int64_t& value, int64_t absent) {
  const char* name = nullptr;
  const bool present = object_.contains(key.names.front());
  const Json* stored = find(key, &name);
  const auto read = [&] {
    if (!stored) return present ? int64_t{0} : absent;
    if (!stored->is_number_integer() || *stored < 0 || *stored > kMost)
      bad_value(where_, name, *stored, "an integer of 0 or more");
    return stored->get<int64_t>();
  };
  const int64_t current = read();
  if (!writing())
    value = current;
  else if (fresh_ || current != value)
    set(name, value > 0 ? Json(value) : Json());
}

void ConfigKeys::real(const KeyNames& key, double& value, std::optional<double> otherwise) {
  field<double>(key, value, otherwise, [&](const char* name, const Json& v) {
    if (!v.is_number() || v.get<double>() <= 0) bad_value(where_, name, v, "a positive number");
    return v.get<double>();
  });
}

void ConfigKeys::optional_real(const KeyNames& key, double& value) {
  const char* name = nullptr;
  const Json* stored = find(key, &name);
  if (stored && (!stored->is_number() || stored->get<double>() < 0))
    bad_value(where_, name, *stored, "a positive number or null");
  const double current = stored ? stored->get<double>() : 0;
  if (!writing())
    value = current;
  else if (current != value)
    set(name, value > 0 ? Json(value) : Json());
}

void ConfigKeys::flag(const KeyNames& key, bool& value, bool otherwise) {
  field<bool>(key, value, otherwise, [&](const char* name, const Json& v) {
    if (!v.is_boolean()) bad_value(where_, name, v, "true or false");
    return v.get<bool>();
  });
}

void ConfigKeys::choice(const KeyNames& key, std::string& value, const std::string& otherwise) {
  field<std::string>(key, value, otherwise, [&](const char* name, const Json& v) {
    if (!v.is_string()) bad_value(where_, name, v, "a string");
    return v.get<std::string>();
  });
}

void ConfigKeys::only(const char* key, const Json& value) {
  if (const Json* found = get(key))
    CUPEL_CHECK(*found == value, data, where_, ": '", key, "' is ", shown(*found),
                ", which is not supported (only ", shown(value), ")");
}

void ConfigKeys::harmless(std::initializer_list<const char*> keys) {
  for (const char* key : keys) used_.insert(key);
}

std::vector<std::string> ConfigKeys::unused() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : object_.items())
    if (!used_.contains(key)) out.push_back(key);
  return out;
}

void layer_list(ConfigKeys& keys, const char* key, ModelConfig& config,
                const std::function<bool(int64_t)>& otherwise, bool LayerKind::*field) {
  const Json* list = keys.get(key);
  const auto layers = static_cast<std::size_t>(config.layers);
  if (keys.writing()) {
    bool same = list == nullptr;
    Json written = Json::array();
    for (std::size_t i = 0; i < layers; ++i) {
      const bool on = config.kind(static_cast<int>(i)).*field;
      written.push_back(on ? 1 : 0);
      same = same && on == otherwise(static_cast<int64_t>(i));
    }
    if (!same) keys.set(key, written);
    return;
  }
  CUPEL_CHECK(!list || (list->is_array() && list->size() == layers), data, keys.where(), ": '", key,
              "' is not a list with one entry for each of the ", layers, " layers");
  for (std::size_t i = 0; i < layers; ++i) {
    const Json* entry = list ? &(*list)[i] : nullptr;
    CUPEL_CHECK(!entry || entry->is_boolean() || *entry == 0 || *entry == 1, data, keys.where(),
                ": an entry of '", key, "' is ", shown(*entry), ", 0 or 1 expected");
    config.kinds[i].*field =
        entry ? *entry == 1 || *entry == true : otherwise(static_cast<int64_t>(i));
  }
}

void set_sparse(ModelConfig& config, const std::function<bool(int64_t)>& is_sparse) {
  for (std::size_t i = 0; i < config.kinds.size(); ++i)
    config.kinds[i].sparse = is_sparse(static_cast<int64_t>(i));
}

void window_keys(ConfigKeys& keys, ModelConfig& config, int64_t default_window,
                 const std::function<bool(int64_t)>& slides) {
  int64_t window = 0;
  for (const LayerKind& kind : config.kinds) window = std::max(window, kind.window);
  const bool was_windowed = window > 0;
  keys.count("sliding_window", window, default_window);
  const Json* types = keys.get("layer_types");
  const auto layers = static_cast<std::size_t>(config.layers);
  if (keys.writing()) {
    bool same = types == nullptr;
    Json written = Json::array();
    for (std::size_t i = 0; i < layers; ++i) {
      const bool on = config.kind(static_cast<int>(i)).window > 0;
      written.push_back(on ? "sliding_attention" : "full_attention");
      same = same && (!was_windowed || on == slides(static_cast<int64_t>(i)));
    }
    if (!same) keys.set("layer_types", written);
    return;
  }
  CUPEL_CHECK(!types || (types->is_array() && types->size() == layers), data, keys.where(),
              ": 'layer_types' is not a list with one entry for each of the ", layers, " layers");
  for (std::size_t i = 0; i < layers; ++i) {
    bool on = slides(static_cast<int64_t>(i));
    if (types) {
      const Json& type = (*types)[i];
      CUPEL_CHECK(type == "full_attention" || type == "sliding_attention", data, keys.where(),
                  ": layer_types has ", shown(type),
                  ", which is not supported (known: full_attention, sliding_attention)");
      on = type == "sliding_attention";
    }
    config.kinds[i].window = on ? window : 0;
  }
}

}  // namespace cupel::format
