// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "format/artifact.h"
#include "kernels/cpu.h"
#include "kernels/linear.h"
#include "text/tokenizer.h"

namespace cupel::runtime {

/// How activations enter integer layouts: two int8 passes (about 15 bits, the default and what
/// parity is measured with) or one (faster prompts, its own KL).
enum class Activations { exact, int8 };

struct LoadOptions {
  kernels::Device device = kernels::Device::cpu;
  kernels::Isa isa = kernels::best_isa();
  Activations activations = Activations::exact;
};

/// A model ready to run: mapped weights and prepared kernels. Immutable and shared by sessions,
/// thread-safe.
class Model {
 public:
  /// A `.cupel` is mapped as it is. A Hugging Face folder or a `.gguf` is converted to dense
  /// float32 in memory, with a notice that names the cost. Errors as format::Artifact::open and
  /// format::Checkpoint::open.
  static std::shared_ptr<const Model> open(const std::string& path, const LoadOptions& options);

  // Vectors that a model lacks are empty, matrices have no rows. Transforms are those of the input
  // that the named matrices share.

  struct Attention {
    kernels::Linear query, key, value, output;
    const kernels::RowTransform *in = nullptr, *output_in = nullptr;
    std::vector<float> query_bias, key_bias, value_bias, output_bias;
    std::vector<float> query_norm, key_norm, sinks;
    /// Low-rank attention: kv_a instead of key and value (then kv_b), query_a instead of query
    /// where queries are low-rank too (then query_b).
    kernels::Linear query_a, query_b, kv_a, kv_b;
    std::vector<float> query_a_norm, kv_a_norm;
    const kernels::RowTransform *query_b_in = nullptr, *kv_b_in = nullptr;
  };
  /// The MLP of a dense layer, or one expert.
  struct Mlp {
    kernels::Linear gate, up, down;
    std::vector<float> gate_bias, up_bias, down_bias;
    const kernels::RowTransform *in = nullptr, *down_in = nullptr;
  };
  struct Experts {
    kernels::Linear router, shared_router;
    std::vector<float> router_bias, router_correction;
    std::vector<Mlp> routed;
    Mlp shared;
  };
  struct Layer {
    std::vector<float> attention_norm, post_attention_norm, mlp_norm, post_mlp_norm;
    Attention attention;
    Mlp mlp;          ///< of a dense layer
    Experts experts;  ///< of a sparse one
  };

  const format::ModelConfig& config() const { return config_; }
  const LoadOptions& options() const { return options_; }
  /// The kernels of options().isa.
  const kernels::CpuKernels& cpu() const { return *cpu_; }
  /// nullptr when the model carries none. Read on first use: a large vocabulary takes longer than
  /// all the rest of opening an artifact. Errors as text::Tokenizer::from_json.
  const std::shared_ptr<const text::Tokenizer>& tokenizer() const;
  const std::vector<Layer>& layers() const { return layers_; }
  const std::vector<float>& final_norm() const { return final_norm_; }
  const kernels::Linear& head() const { return head_; }
  const kernels::RowTransform& head_in() const { return *head_in_; }
  /// Row `token` of the embedding as float32; `token` must lie in the vocabulary.
  void embed(text::Token token, float* out) const;
  /// Bytes of the file, and those that one generated token reads: of the experts only those that
  /// it visits, and not the cache.
  int64_t file_bytes() const { return file_bytes_; }
  int64_t streamed_bytes() const { return streamed_bytes_; }
  const std::string& path() const { return path_; }

 private:
  friend class ModelLoader;
  Model() = default;
  std::string path_;
  LoadOptions options_;
  format::ModelConfig config_;
  const kernels::CpuKernels* cpu_ = nullptr;
  mutable std::mutex tokenizer_mutex_;
  mutable std::string tokenizer_json_;  // emptied once it is read
  mutable std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::shared_ptr<const format::Artifact> artifact_;  // owner of the mapped planes
  std::vector<format::ArtifactTensor> converted_;     // owner of converted tensors' records
  std::vector<std::unique_ptr<float[]>> converted_values_;
  std::deque<kernels::RowTransform> transforms_;  // views of the tensors'; their places stay
  std::vector<Layer> layers_;
  std::vector<float> final_norm_;
  kernels::Linear head_;
  const kernels::RowTransform* head_in_ = nullptr;
  const format::ArtifactTensor* embedding_ = nullptr;
  int64_t file_bytes_ = 0, streamed_bytes_ = 0;
  std::jthread readahead_;  // last, so that it ends before the map does
};

}  // namespace cupel::runtime
