// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "export/safetensors_writer.h"
#include "format/checkpoint.h"

namespace cupel::export_ {

/// Writes one weight's float32 values.
using WeightReader = std::function<void(const format::WeightId& id, std::span<float> out)>;
/// The type in which a weight is written: f32, f16 or bf16.
using TypeChooser = std::function<format::ElementType(const format::WeightId& id)>;

/// The tensors of a Hugging Face folder for a model: canonical weights, those that the family fuses
/// in one tensor put together (Architecture::fused). `read` and `type` are kept and called later.
std::vector<OutputTensor> hf_tensors(const format::ModelConfig& config, const TypeChooser& type,
                                     const WeightReader& read);
/// What a checkpoint does not run and passes through, byte for byte; it must outlive the tensors.
std::vector<OutputTensor> passed_tensors(const format::Checkpoint& checkpoint);

}  // namespace cupel::export_
