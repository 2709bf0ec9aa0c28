// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "format/element_type.h"

namespace cupel::export_ {

/// A tensor to write; `fill` is called once, when its turn comes, with a buffer of its float32
/// values. One with `bytes` is written as it is, whatever its type.
struct OutputTensor {
  std::string name;
  std::vector<int64_t> shape;
  format::ElementType type = format::ElementType::bf16;  ///< f32, f16 or bf16 where filled
  std::function<void(std::span<float>)> fill;
  std::span<const std::byte> bytes = {};
};

/// A Hugging Face folder: safetensors shards of at most `shard_bytes` with a fresh index (one file
/// needs none), config.json, and the tokenizer's JSON with what Hugging Face reads beside it.
/// Atomic per file, config last.
void write_hf_folder(const std::string& folder, const std::vector<OutputTensor>& tensors,
                     const std::string& config_json, const std::string& tokenizer_json,
                     int64_t shard_bytes = int64_t{5'000'000'000});

}  // namespace cupel::export_
