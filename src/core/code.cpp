// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/code.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "core/codes/uniform_code.h"
#include "core/tensor_util.h"
#include "format/layouts/dense.h"

namespace cupel::core {
namespace {

using format::ElementType;

/// Rounding to a narrower float: the trivial code, no scales. Values beyond float16 become its
/// largest number.
class DenseEncoding : public Encoding {
 public:
  DenseEncoding(std::shared_ptr<const format::DenseLayout> layout, int64_t rows, int64_t cols)
      : layout_(std::move(layout)),
        type_(layout_->type()),
        values_oi_(at::empty({rows, cols}, at::kFloat)),
        out_(values_oi_.data_ptr<float>()) {}

  void encode(const TileColumn& t) override {
    const int64_t inputs = values_oi_.size(1);
    for (int64_t c = 0; c < t.cols; ++c)
      for (int64_t r = 0; r < t.rows; ++r) {
        const float value = rounded(t.target[c * t.stride + r]);
        t.value[c * t.stride + r] = value;
        out_[(t.row + r) * inputs + t.col + c] = value;
      }
  }

  format::WeightCode finish() override {
    format::WeightCode code =
        format::dense_code(type_, values_oi_.size(0), values_oi_.size(1), floats(values_oi_));
    code.layout = layout_;
    return code;
  }

 private:
  float rounded(float x) const {
    constexpr float kLargestHalf = 65504.0f;
    if (type_ == ElementType::f16)
      return format::f16_to_f32(format::f32_to_f16(std::clamp(x, -kLargestHalf, kLargestHalf)));
    return type_ == ElementType::bf16 ? format::bf16_to_f32(format::f32_to_bf16(x)) : x;
  }

  std::shared_ptr<const format::DenseLayout> layout_;
  ElementType type_;
  at::Tensor values_oi_;
  float* out_;
};

class DenseCode : public Code {
 public:
  explicit DenseCode(std::shared_ptr<const format::DenseLayout> layout)
      : layout_(std::move(layout)) {}
  std::unique_ptr<Encoding> fit(const at::Tensor& w_oi, const Metric&) const override {
    return std::make_unique<DenseEncoding>(layout_, w_oi.size(0), w_oi.size(1));
  }

 private:
  std::shared_ptr<const format::DenseLayout> layout_;
};

}  // namespace

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

const EnumNames& scale_rule_names() {
  static const EnumNames names = {{"minmax", static_cast<int>(ScaleRule::minmax)},
                                  {"mse", static_cast<int>(ScaleRule::mse)}};
  return names;
}

std::unique_ptr<Code> make_code(std::shared_ptr<const format::Layout> layout, ScaleRule rule) {
  if (auto uniform = std::dynamic_pointer_cast<const format::UniformLayout>(layout))
    return std::make_unique<UniformCode>(std::move(uniform), rule);
  if (auto dense = std::dynamic_pointer_cast<const format::DenseLayout>(layout))
    return std::make_unique<DenseCode>(std::move(dense));
  fail(Fault::user, "layout '", layout->name(), "' has no code that a quantizer could round to");
}

at::Tensor decode(const format::WeightCode& code) {
  at::Tensor w_oi = at::empty({code.rows, code.cols}, at::kFloat);
  code.layout->decode(code,
                      {w_oi.mutable_data_ptr<float>(), static_cast<std::size_t>(w_oi.numel())});
  return w_oi;
}

}  // namespace cupel::core
