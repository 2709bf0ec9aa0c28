// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/architecture.h"
#include "format/container.h"
#include "format/weight_code.h"

namespace cupel::format {

/// One weight of a model under its canonical name.
struct WeightInfo {
  std::string name;  ///< "model.layers.3.mlp.up_proj.weight"
  WeightId id;
  std::vector<int64_t> shape;
  std::string stored_as;  ///< element type or layout: "q4_1", "bf16", "uniform"
  int64_t bytes = 0;
};

/// A model, whatever holds it: a Hugging Face folder, a GGUF file, an artifact. Weights come under
/// canonical names, in canonical order of rows. Opening maps and validates, reads no weight.
/// Thread-safe.
class Checkpoint {
 public:
  /// Fault::user when the path holds no model; Fault::data when tensors are missing, have a wrong
  /// shape, or when an unknown tensor could mean a feature that we would miss.
  static std::unique_ptr<Checkpoint> open(const std::string& path);
  virtual ~Checkpoint() = default;

  const ModelConfig& config() const { return config_; }
  const std::vector<WeightInfo>& weights() const { return weights_; }
  const WeightInfo* find(std::string_view name) const;
  /// The weight as float32 in `out` (its element count); quantized types are decoded exactly.
  /// Fault::data if a value is not finite; the message names the weight and the position.
  virtual void read(std::string_view name, std::span<float> out) const = 0;
  /// What the matrix reads where a multiplication's input is to be rounded (artifacts alone say
  /// so); nullopt: x as it is.
  virtual std::optional<RoundedInput> rounded_input(std::string_view name) const;
  /// config.json (the file's own text, or what we wrote for a GGUF file).
  const std::string& config_json() const { return config_json_; }
  /// The tokenizer as JSON (the schema of tokenizer.json plus our "cupel" object), "" when the
  /// model has none.
  virtual std::string tokenizer_json() const = 0;
  /// "gguf v3", "safetensors", "cupel 1".
  virtual std::string kind() const = 0;
  /// What open() was given.
  const std::string& path() const { return path_; }
  /// Bytes of the files that hold weights.
  int64_t file_bytes() const { return file_bytes_; }
  /// Tensors of parts that are not run (vision, prediction layers), under their names in the file;
  /// whoever writes a folder copies them.
  const std::vector<const TensorEntry*>& passed_through() const { return passed_through_; }
  /// What was left unused and why, for the user to see.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Hash of what the weights are: config, names, shapes, types and the stored content of each
  /// tensor.
  virtual std::string fingerprint() const;

 protected:
  ModelConfig config_;
  std::string path_, config_json_;
  std::vector<WeightInfo> weights_;
  std::vector<std::string> notes_;
  std::vector<const TensorEntry*> passed_through_;
  int64_t file_bytes_ = 0;

 private:
  std::unordered_map<std::string_view, const WeightInfo*> by_name_;
};

/// The tokenizer of a folder (tokenizer.json + tokenizer_config.json + generation_config.json), a
/// GGUF file, an artifact or a bare tokenizer.json, as one JSON. Fault::user when there is none.
std::string tokenizer_json_of(const std::string& path);

}  // namespace cupel::format
