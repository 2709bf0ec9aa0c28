// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/code.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "base/error.h"
#include "core/codes/uniform_code.h"
#include "core/tensor_util.h"

namespace cupel::core {
at::Tensor Encoding::encode_on_device(int64_t col, const at::Tensor& target_do,
                                      const double* metric_dd) {
  const at::Tensor target = host_float(target_do), value = at::empty_like(target);
  const int64_t inputs = target.size(0), outputs = target.size(1);
  encode({.row = 0,
          .rows = outputs,
          .col = col,
          .cols = inputs,
          .stride = outputs,
          .target = target.const_data_ptr<float>(),
          .value = value.mutable_data_ptr<float>(),
          .metric_dd = metric_dd});
  return value.to(target_do.device());
}

void Encoding::set_codes(const at::Tensor&) {
  fail(Fault::internal, "this code has no rule of scalars: its tiles are rounded by encode()");
}

const EnumNames& scale_rule_names() {
  static const EnumNames names = {{"minmax", static_cast<int>(ScaleRule::minmax)},
                                  {"mse", static_cast<int>(ScaleRule::mse)},
                                  {"exact", static_cast<int>(ScaleRule::exact)},
                                  {"four-over-six", static_cast<int>(ScaleRule::four_over_six)}};
  return names;
}

const float* Metric::row(int64_t o, const std::vector<float>& ones) const {
  if (!weight.defined()) return ones.data();
  return weight.const_data_ptr<float>() + (weight.dim() == 2 ? o * weight.size(1) : 0);
}

at::Tensor decode(const format::WeightCode& code) {
  at::Tensor w_oi = at::empty({code.rows, code.cols}, at::kFloat);
  code.layout->decode(code,
                      {w_oi.mutable_data_ptr<float>(), static_cast<std::size_t>(w_oi.numel())});
  return w_oi;
}

}  // namespace cupel::core
