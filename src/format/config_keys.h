// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "format/model_config.h"

namespace cupel::format {

/// Other spellings of one key; the first is written.
struct KeyNames {
  KeyNames(const char* name) : names{name} {}
  KeyNames(std::initializer_list<const char*> list) : names(list) {}
  std::vector<const char*> names;
};

/// The keys of a config.json, read into a ModelConfig or written from one by the same calls, so
/// that the two cannot differ. null counts as absent. Reading ticks off keys as they are used;
/// writing changes only what reading would give otherwise (every key, if the object was empty).
/// Internal to this module.
class ConfigKeys {
 public:
  using Json = nlohmann::ordered_json;
  enum class Mode { read, write };
  ConfigKeys(Json& object, Mode mode, std::string where);

  bool writing() const { return mode_ == Mode::write; }
  /// Positive; required without `otherwise`.
  void integer(const KeyNames& key, int64_t& value,
               std::optional<int64_t> otherwise = std::nullopt);
  /// 0 or more; 0 stands for absent (`absent` = what a missing key means; null means 0).
  void count(const KeyNames& key, int64_t& value, int64_t absent = 0);
  void real(const KeyNames& key, double& value, std::optional<double> otherwise = std::nullopt);
  /// 0 stands for absent or null.
  void optional_real(const KeyNames& key, double& value);
  void flag(const KeyNames& key, bool& value, bool otherwise);
  void choice(const KeyNames& key, std::string& value, const std::string& otherwise);
  /// The feature behind `key` exists in one form only.
  void only(const char* key, const Json& value);
  /// Of no effect; ticks it off.
  void harmless(std::initializer_list<const char*> keys);

  /// The value as it is, ticked off; nullptr for absent and null.
  const Json* get(const char* key);
  bool present(const char* key) const;  ///< null included
  void set(const char* key, Json value);
  void erase(const char* key);
  std::vector<std::string> unused() const;
  std::vector<std::string> notes;  ///< what the user should know of the reading
  const std::string& where() const { return where_; }
  bool fresh() const { return fresh_; }

 private:
  const Json* find(const KeyNames& key, const char** found);
  template <class T, class Read>
  void field(const KeyNames& key, T& value, std::optional<T> otherwise, const Read& read);

  Json& object_;
  Mode mode_;
  std::string where_;
  bool fresh_;
  std::set<std::string> used_;
};

/// What families share.
struct FamilyDefaults {
  int64_t kv_heads = 0;  ///< 0: as many as heads
  int64_t head_dim = 0;  ///< 0: hidden / heads
  double norm_eps = 1e-6, theta = 10000;
  double local_theta = 0;  ///< of layers with a window; 0: the same as of all
  bool tied = false;
};
/// Sizes, norm, head and rope; config.kinds gets an entry for each layer.
void common_keys(ConfigKeys& keys, ModelConfig& config, const FamilyDefaults& defaults);
void activation_key(ConfigKeys& keys, ModelConfig& config, const KeyNames& key,
                    Activation otherwise);
/// Both spellings of transformers 4 and 5.
void rope_keys(ConfigKeys& keys, ModelConfig& config, const FamilyDefaults& defaults);
/// sliding_window and layer_types; `slides` says which layers have a window where layer_types is
/// silent.
void window_keys(ConfigKeys& keys, ModelConfig& config, int64_t default_window,
                 const std::function<bool(int64_t layer)>& slides);
/// Every layer's kind has `sparse` as `is_sparse` says.
void set_sparse(ModelConfig& config, const std::function<bool(int64_t layer)>& is_sparse);
/// A list with one entry per layer.
void layer_list(ConfigKeys& keys, const char* key, ModelConfig& config,
                const std::function<bool(int64_t layer)>& otherwise, bool LayerKind::*field);

}  // namespace cupel::format
