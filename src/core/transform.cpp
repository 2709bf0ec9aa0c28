// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/transform.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <cmath>

#include "base/error.h"
#include "format/hadamard.h"

namespace cupel::core {
namespace {

template <class T>
at::Tensor row_of(const std::vector<T>& values, const at::Tensor& like) {
  return at::tensor(at::ArrayRef<T>(values)).to(like.device(), at::kDouble);
}

/// F over the runs of `power` inputs of each block of x [.., i].
at::Tensor multiply_factor(const at::Tensor& x, const format::HadamardOrder& order) {
  const auto f = format::hadamard_factor(order.factor);
  const at::Tensor f_ab = at::tensor(at::ArrayRef<int8_t>(f.data(), f.size()))
                              .reshape({order.factor, order.factor})
                              .to(x.device(), at::kDouble);
  return at::matmul(f_ab, x.reshape({-1, order.factor, order.power})).reshape(x.sizes());
}

/// Rows of x [.., i], float64, times the block Hadamard matrix.
at::Tensor hadamard(const at::Tensor& x, int block) {
  const auto order = format::hadamard_order(block);
  CUPEL_ASSERT(order.has_value());
  at::Tensor y = hadamard_runs(x, order->power);
  if (order->factor > 1) y = multiply_factor(y, *order);
  return y / std::sqrt(static_cast<double>(block));
}

/// x [.., i] in float64 times signs, then Hadamard: the orthonormal part of T, its own inverse
/// transpose.
at::Tensor rotate(const format::InputTransform& t, at::Tensor x) {
  if (!t.signs.empty()) x = x * row_of(t.signs, x);
  return t.hadamard > 0 ? hadamard(x, t.hadamard) : x;
}

void check_width(const format::InputTransform& t, int64_t inputs) {
  const auto fits = [&](std::size_t n) { return n == 0 || n == static_cast<std::size_t>(inputs); };
  CUPEL_ASSERT(fits(t.scale.size()) && fits(t.signs.size()));
  CUPEL_ASSERT(t.hadamard == 0 || inputs % t.hadamard == 0);
}

}  // namespace

at::Tensor hadamard_runs(const at::Tensor& x, int64_t power) {
  at::Tensor y = x;
  for (int64_t half = 1; half < power; half *= 2) {
    const at::Tensor pairs = y.reshape({-1, 2, half});
    const at::Tensor a = pairs.select(1, 0), b = pairs.select(1, 1);
    y = at::stack({a + b, a - b}, 1);
  }
  return y.reshape(x.sizes());
}

void add_fallback(std::span<MatrixResult> results, const std::string& fallback) {
  if (fallback.empty()) return;
  for (MatrixResult& result : results)
    result.fallback += (result.fallback.empty() ? "" : "; ") + fallback;
}

at::Tensor transform_weight(const format::InputTransform& transform, const at::Tensor& w_oi) {
  if (transform.identity()) return w_oi.to(at::kFloat);
  check_width(transform, w_oi.size(1));
  at::Tensor w = w_oi.to(at::kDouble);
  if (!transform.scale.empty()) w = w / row_of(transform.scale, w);
  return rotate(transform, w).to(at::kFloat);
}

at::Tensor transform_second_moment(const format::InputTransform& transform,
                                   const at::Tensor& h_ii) {
  at::Tensor h = h_ii.to(at::kDouble);
  if (transform.identity()) return h;
  check_width(transform, h.size(0));
  for (int side = 0; side < 2; ++side) {
    if (!transform.scale.empty()) h = h * row_of(transform.scale, h);
    h = rotate(transform, h).t().contiguous();
  }
  return h;
}

}  // namespace cupel::core
