// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/codes/dense_code.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "core/tensor_util.h"

namespace cupel::core {
namespace {

using format::ElementType;

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

}  // namespace

std::unique_ptr<Encoding> DenseCode::fit(const at::Tensor& w_oi, const Metric&) const {
  return std::make_unique<DenseEncoding>(layout_, w_oi.size(0), w_oi.size(1));
}

}  // namespace cupel::core
