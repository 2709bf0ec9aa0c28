// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::format {

/// What a weight does in a decoder; one name pattern per role and family.
enum class Role : uint8_t {
  embedding,
  head,
  final_norm,
  attention_norm,
  query,
  key,
  value,
  output,
  mlp_norm,
  gate,
  up,
  down,
};
std::string_view role_name(Role role);

/// A weight's place: role, and layer (-1 for those outside the layers).
struct WeightId {
  Role role = Role::embedding;
  int layer = -1;
  friend bool operator==(const WeightId&, const WeightId&) = default;
};

/// Name pattern of one role; `{}` stands for the layer. The canonical name is Hugging Face's.
struct NamePattern {
  Role role;
  const char* canonical;
  const char* gguf;
};

/// One model family as data: names, and how its files differ from the canonical form. Read by one
/// decoder in core and one in runtime; there is no class per model.
struct Architecture {
  const char* family;                    ///< "llama"
  std::vector<const char*> model_types;  ///< values of config.json's model_type
  std::vector<const char*> gguf_names;   ///< values of general.architecture
  std::vector<NamePattern> names;
  bool gguf_permutes_query_key;              ///< GGUF stores q and k rows for interleaved rope
  std::vector<const char*> ignored_tensors;  ///< known extras without effect, `{}` for the layer
  const char* class_name;                    ///< entry of config.json's `architectures`
  double default_theta, default_eps;         ///< where config.json is silent
  bool default_tied;
  const char* activation;  ///< the only hidden_act that is implemented
};

const std::vector<Architecture>& architectures();
/// Fault::data lists the known families.
const Architecture& architecture_of_model_type(std::string_view model_type);
const Architecture& architecture_of_gguf(std::string_view name);
const Architecture& architecture_of_family(std::string_view family);

std::string canonical_name(const Architecture& arch, WeightId id);
std::string gguf_name(const Architecture& arch, WeightId id);
std::optional<WeightId> id_of_canonical(const Architecture& arch, std::string_view name);
std::optional<WeightId> id_of_gguf(const Architecture& arch, std::string_view name);
/// Every weight of a model of `layers` layers in the order in which it runs; a tied head has none
/// of its own.
std::vector<WeightId> weight_ids(const Architecture& arch, int64_t layers, bool tied_head);
/// True when `name` matches `pattern`, whose `{}` stands for a layer's number; `layer` receives it
/// (else -1).
bool matches_pattern(std::string_view pattern, std::string_view name, int& layer);

/// Rotary position embedding, half-split form. `type` is "default", "linear" or "llama3".
struct Rope {
  std::string type = "default";
  double theta = 10000;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_positions = 0;
};
/// Angle per position of each of the head_dim / 2 pairs, float64.
std::vector<double> rope_frequencies(const Rope& rope, int64_t head_dim);

/// Everything that the decoder needs to know, from config.json or GGUF keys.
struct ModelConfig {
  std::string family;
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0,
          intermediate = 0;
  int64_t max_positions = 0;
  double norm_eps = 1e-5;
  bool tied_head = false;
  Rope rope;
  const Architecture& architecture() const { return architecture_of_family(family); }
  /// The shape that a weight must have, outermost first.
  std::vector<int64_t> shape_of(Role role) const;
};

/// Reads a Hugging Face config.json: every key is used, known to be without effect, or reported by
/// name (Fault::data when it would change the result, a line in `notes` otherwise). Both v4 and v5
/// rope spellings.
ModelConfig config_from_json(std::string_view json, std::vector<std::string>* notes = nullptr);
/// The config.json of `config`. If `original_json` is not empty it is patched (all other keys
/// stay), else written new.
std::string config_to_json(const ModelConfig& config, std::string_view original_json = {});

/// The weights of a layer that share their input, in the order in which a block runs: {q,k,v}, {o},
/// {gate,up}, {down}.
std::vector<std::vector<Role>> input_groups(const Architecture& arch);

/// True for the matrices that quantization and pruning work on (not norms).
bool is_matrix(Role role);

}  // namespace cupel::format
