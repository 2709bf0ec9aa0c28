// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/tensor_util.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "base/error.h"
#include "core/parallel.h"
#include "format/layout.h"

namespace cupel::core {
namespace {

using format::ElementType;

// Rows that are worth handing to a thread.
constexpr int64_t kRowsPerThread = 16;

struct TypePair {
  ElementType element;
  at::ScalarType scalar;
};
constexpr TypePair kTypes[] = {
    {ElementType::f32, at::kFloat}, {ElementType::f64, at::kDouble},
    {ElementType::u8, at::kByte},   {ElementType::i8, at::kChar},
    {ElementType::i32, at::kInt},   {ElementType::i64, at::kLong},
    {ElementType::f16, at::kHalf},  {ElementType::bf16, at::kBFloat16},
};

}  // namespace

at::Tensor tensor_of(std::span<const float> values, at::IntArrayRef shape) {
  at::Tensor t = at::empty(shape, at::kFloat);
  CUPEL_ASSERT(static_cast<std::size_t>(t.numel()) == values.size());
  if (!values.empty()) std::memcpy(t.data_ptr<float>(), values.data(), values.size_bytes());
  return t;
}

at::Tensor host_float(const at::Tensor& t) {
  return t.detach().to(at::kCPU, at::kFloat).contiguous();
}

std::span<const float> floats(const at::Tensor& t) {
  CUPEL_ASSERT(t.is_contiguous() && t.device().is_cpu() && t.scalar_type() == at::kFloat);
  return {t.const_data_ptr<float>(), static_cast<std::size_t>(t.numel())};
}

format::Array array_of(const at::Tensor& t) {
  const at::Tensor host = t.detach().to(at::kCPU).contiguous();
  for (const TypePair& pair : kTypes) {
    if (pair.scalar != host.scalar_type()) continue;
    const auto* first = static_cast<const std::byte*>(host.const_data_ptr());
    return {pair.element, host.sizes().vec(), std::vector<std::byte>(first, first + host.nbytes())};
  }
  fail(Fault::internal, "a tensor of type ", c10::toString(host.scalar_type()),
       " has no array form");
}

at::Tensor tensor_of(const format::Array& array) {
  for (const TypePair& pair : kTypes) {
    if (pair.element != array.type) continue;
    at::Tensor t = at::empty(array.shape, pair.scalar);
    CUPEL_ASSERT(t.nbytes() == array.bytes.size());
    if (!array.bytes.empty())
      std::memcpy(t.mutable_data_ptr(), array.bytes.data(), array.bytes.size());
    return t;
  }
  fail(Fault::internal, "an array of type ", format::traits(array.type).name,
       " has no tensor form");
}

at::Tensor decoded_weight(const format::WeightCode& code) {
  at::Tensor w_oi = at::empty({code.rows, code.cols}, at::kFloat);
  float* values = w_oi.data_ptr<float>();
  code.layout->decode(code, {values, static_cast<std::size_t>(w_oi.numel())});
  if (!code.input.identity())
    parallel_for(0, code.rows, kRowsPerThread, [&](int64_t begin, int64_t end) {
      format::undo_on_weight(code.input, values + begin * code.cols, end - begin, code.cols);
    });
  return w_oi;
}

at::Tensor ids_tensor(std::span<const int32_t> ids, at::Device device) {
  at::Tensor ids_nt = at::empty({1, static_cast<int64_t>(ids.size())}, at::kLong);
  std::copy(ids.begin(), ids.end(), ids_nt.mutable_data_ptr<int64_t>());
  return ids_nt.to(device);
}

}  // namespace cupel::core
