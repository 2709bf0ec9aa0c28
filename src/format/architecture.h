// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/model_config.h"

namespace cupel::format {

class ConfigKeys;

/// Name pattern of one role; the first `{}` stands for the layer, a second one for the expert. The
/// canonical name is Hugging Face's. `other` is a second name that files have, `gguf_other` one of
/// old GGUF files. A GGUF name of experts without a second `{}` is that of a tensor that holds all
/// of them, the first axis being the expert.
struct NamePattern {
  Role role;
  const char* canonical;
  const char* gguf = "";
  const char* other = "";
  const char* gguf_other = "";
};

/// How several weights lie in one stored tensor.
struct FusedPattern {
  const char* stored;        ///< name of the tensor
  std::vector<Role> parts;   ///< along the output axis, one after another
  bool interleaved = false;  ///< row by row in turn instead
  bool transposed = false;   ///< matrices are [input, output]
  bool of_experts = false;   ///< the first axis is the expert
  bool written = false;      ///< Hugging Face folders that we write have it so
};

/// One model family as data: names, and how its files differ from the canonical form. What its
/// decoder computes is in ModelConfig; there is no class per model.
struct Architecture {
  const char* family = "";              ///< also config.json's model_type
  std::vector<const char*> gguf_names;  ///< values of general.architecture
  const char* class_name = "";          ///< entry of config.json's `architectures`
  std::vector<NamePattern> names;
  std::vector<FusedPattern> fused;
  std::vector<FusedPattern> gguf_fused;
  std::vector<const char*> ignored_tensors;  ///< known extras without effect
  bool gguf_permutes_query_key = false;      ///< GGUF stores q and k rows for interleaved rope
  bool gguf_adds_one = false;                ///< GGUF stores 1 + w of norms that multiply by it
  /// Reads or writes the keys of config.json that the family has.
  void (*keys)(ConfigKeys& keys, ModelConfig& config) = nullptr;
};

/// One list; a new family is one entry of families.cpp.
const std::vector<Architecture>& architectures();
/// Fault::data lists the known families.
const Architecture& architecture_of_family(std::string_view model_type);
const Architecture& architecture_of_gguf(std::string_view name);

std::string canonical_name(const Architecture& arch, WeightId id);
std::string gguf_name(const Architecture& arch, WeightId id);
std::optional<WeightId> id_of_canonical(const Architecture& arch, std::string_view name);
std::optional<WeightId> id_of_gguf(const Architecture& arch, std::string_view name);
/// True when `name` matches `pattern`; the numbers behind its `{}` go to layer and expert (else
/// -1).
bool matches_pattern(std::string_view pattern, std::string_view name, int& layer, int& expert);
std::string fill_pattern(std::string_view pattern, int layer, int expert);
/// The shape of the tensor that holds a pattern's weights, [output, input] matrices (`transposed`
/// left aside).
std::vector<int64_t> fused_shape(const ModelConfig& config, const FusedPattern& pattern);

}  // namespace cupel::format
