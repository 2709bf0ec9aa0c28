// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/product.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "core/feedback_kernels.h"
#include "core/parallel.h"

namespace cupel::core {
namespace {

// Rows of the result that one thread makes at a time: they share a pass over b.
constexpr int64_t kRows = 32;

template <class T>
at::Tensor host_product(const at::Tensor& a_mk, const at::Tensor& b_kn) {
  const int64_t rows = a_mk.size(0), depth = a_mk.size(1), columns = b_kn.size(1);
  const int64_t width = kernels::round_up(columns, kernels::kWidthStep);
  at::Tensor b = b_kn.contiguous();
  if (width != columns) {
    b = at::zeros({depth, width}, b_kn.options());
    b.slice(1, 0, columns).copy_(b_kn);
  }
  at::Tensor c = at::zeros({rows, width}, b.options());
  T* out = c.mutable_data_ptr<T>();
  const T *first = a_mk.const_data_ptr<T>(), *second = b.const_data_ptr<T>();
  const int64_t row_stride = a_mk.stride(0), k_stride = a_mk.stride(1);
  parallel_for(0, rows, kRows, [&](int64_t begin, int64_t end) {
    kernels::add_product(out + begin * width, width,
                         {first + begin * row_stride, row_stride, k_stride}, second, width,
                         end - begin, depth, width);
  });
  return width == columns ? c : c.slice(1, 0, columns).contiguous();
}

}  // namespace

at::Tensor product(const at::Tensor& a_mk, const at::Tensor& b_kn) {
  CUPEL_ASSERT(a_mk.dim() == 2 && b_kn.dim() == 2 && a_mk.size(1) == b_kn.size(0));
  CUPEL_ASSERT(a_mk.scalar_type() == b_kn.scalar_type());
  if (!a_mk.device().is_cpu()) return at::matmul(a_mk, b_kn);
  if (a_mk.scalar_type() == at::kDouble) return host_product<double>(a_mk, b_kn);
  CUPEL_ASSERT(a_mk.scalar_type() == at::kFloat);
  return host_product<float>(a_mk, b_kn);
}

}  // namespace cupel::core
