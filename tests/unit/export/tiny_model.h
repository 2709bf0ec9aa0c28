// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/cat.h"
#include "base/rng.h"
#include "export/artifact_writer.h"
#include "format/architecture.h"
#include "format/layout.h"
#include "format/layouts/dense.h"

namespace cupel::test {

/// A folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cupel-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline format::WeightCode random_code(std::shared_ptr<const format::Layout> layout, int64_t rows,
                                      int64_t cols, Rng rng) {
  auto arrays = layout->random_arrays(rows, cols, 1.0, rng);
  return {std::move(layout), rows, cols, {}, std::move(arrays)};
}

inline const char* kTinyConfig = R"({"model_type":"llama","architectures":["LlamaForCausalLM"],
"vocab_size":70,"hidden_size":64,"intermediate_size":100,"num_hidden_layers":2,
"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"tie_word_embeddings":true,
"hidden_act":"silu","max_position_embeddings":128,"rms_norm_eps":1e-05,"rope_theta":10000.0})";

/// An artifact's content whose codes a test may change.
struct TinyContent {
  struct Weight {
    std::string name;
    format::WeightCode code;
  };
  std::string config_json, tokenizer_json, manifest_json;
  std::vector<Weight> weights;
  operator export_::ArtifactContent() const {
    export_::ArtifactContent out{config_json, tokenizer_json, manifest_json, {}};
    for (const Weight& w : weights)
      out.weights.push_back({w.name, [code = w.code] { return code; }});
    return out;
  }
};

/// A complete model of two layers with several layouts, a transform that three weights share, and
/// short groups.
inline TinyContent tiny_content(uint64_t seed = 1) {
  using format::Role;
  TinyContent content{kTinyConfig, R"({"model":{}})", R"({"seed":1})", {}};
  const auto config = format::config_from_json(kTinyConfig);
  const auto dense = format::make_layout("dense", R"({"type":"bf16"})");
  const auto three = format::make_layout("uniform", R"({"bits":3,"group":32,"symmetric":true})");
  const auto four = format::make_layout("uniform", R"({"bits":4,"group":32,"symmetric":false})");
  for (const auto id : format::weight_ids(config)) {
    auto shape = config.shape_of(id.role);
    if (shape.size() == 1) shape.insert(shape.begin(), 1);
    const std::string name = format::canonical_name(config.architecture(), id);
    const bool attention = id.role == Role::query || id.role == Role::key || id.role == Role::value;
    auto layout = !format::is_matrix(id.role) ? dense : attention ? three : four;
    content.weights.push_back({name, random_code(layout, shape[0], shape[1], Rng(seed, name))});
    if (!attention) continue;
    auto& input = content.weights.back().code.input;
    input.id = cat("layers.", id.layer, ".attention");
    input.hadamard = 64;
    Rng rng(seed, input.id);
    for (int i = 0; i < 64; ++i) {
      input.signs.push_back(rng.below(2) != 0 ? 1 : -1);
      input.scale.push_back(static_cast<float>(0.5 + rng.uniform()));
    }
  }
  return content;
}

}  // namespace cupel::test
