// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>

#include "format/weight_code.h"

namespace cupel::core {

/// Host float32 tensor that copies `values`.
at::Tensor tensor_of(std::span<const float> values, at::IntArrayRef shape);
/// The tensor as float32 on the host, contiguous (a copy only if needed).
at::Tensor host_float(const at::Tensor& t);
/// A view of a contiguous host float32 tensor.
std::span<const float> floats(const at::Tensor& t);
/// Between tensors and host arrays (f32, f64, u8, i8, i32, i64, f16 as their own types).
format::Array array_of(const at::Tensor& t);
at::Tensor tensor_of(const format::Array& array);
/// Token ids as a batch of one, int64 [1, t].
at::Tensor ids_tensor(std::span<const int32_t> ids, at::Device device);
/// Decodes a code to the weight that acts on x itself (input transform undone), float32 [o, i] on
/// the host.
at::Tensor decoded_weight(const format::WeightCode& code);

}  // namespace cupel::core
