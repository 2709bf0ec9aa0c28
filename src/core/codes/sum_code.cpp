// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: a few directions and a few rows carry most of the rounding error; keep them apart.
// Formula: W = Q(W - L R) + L R, L R the best of its rank for (W - Q) diag(h)^1/2; rows in float16.
// Source: "LQER", "LoftQ: LoRA-Fine-Tuning-Aware Quantization for Large Language Models".
// Cost: three roundings and three singular value decompositions.
// Differs: the decomposition is weighted by the metric; factors are rounded before the rest is.
#include "core/codes/sum_code.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/linalg_svd.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "core/tensor_util.h"
#include "format/composite.h"

namespace cupel::core {
namespace {

using format::ElementType;

constexpr int kAlternations = 3;
constexpr float kLargestHalf = 65504.0f;

at::Tensor as_half(const at::Tensor& x) {
  return at::clamp(x, -kLargestHalf, kLargestHalf).to(at::kHalf).to(at::kFloat);
}

format::WeightCode encoded(const Code& code, const at::Tensor& w_oi, const Metric& metric) {
  const at::Tensor host_oi = host_float(w_oi);
  const auto encoding = code.fit(host_oi, metric);
  encoding->encode_on_device(0, host_oi.t().contiguous(), nullptr);
  return encoding->finish();
}

/// Weights of errors as a tensor that multiplies [o, i].
at::Tensor weight_of(const Metric& metric, const at::Tensor& w_oi) {
  return metric.weight.defined() ? metric.weight : at::zeros_like(w_oi) + 1;
}

class SumEncoding : public Encoding {
 public:
  SumEncoding(std::shared_ptr<const format::SumLayout> layout, std::unique_ptr<Encoding> base,
              const Code& factors, const at::Tensor& w_oi, SumParts parts)
      : layout_(std::move(layout)), base_(std::move(base)), parts_(std::move(parts)), w_oi_(w_oi) {
    cols_ = w_oi.size(1);
    full_.resize(static_cast<std::size_t>(w_oi.size(0)));
    for (const int32_t o : parts_.rows) full_[static_cast<std::size_t>(o)] = true;
    if (!parts_.left_or.defined()) return;
    product_oi_ = parts_.product_oi();
    left_ = encoded(factors, parts_.left_or, {});
    right_ = encoded(factors, parts_.right_ri, {});
  }

  void encode(const TileColumn& t) override {
    std::vector<float> target(static_cast<std::size_t>(t.cols * t.rows)), value(target.size());
    const float* product = product_oi_.defined() ? product_oi_.const_data_ptr<float>() : nullptr;
    for (int64_t c = 0; c < t.cols; ++c)
      for (int64_t r = 0; r < t.rows; ++r)
        target[static_cast<std::size_t>(c * t.rows + r)] =
            t.target[c * t.stride + r] -
            (product ? product[(t.row + r) * cols_ + t.col + c] : 0.0f);
    TileColumn inner = t;
    inner.stride = t.rows;
    inner.target = target.data();
    inner.value = value.data();
    base_->encode(inner);
    const float* w = w_oi_.const_data_ptr<float>();
    for (int64_t c = 0; c < t.cols; ++c)
      for (int64_t r = 0; r < t.rows; ++r) {
        const int64_t at = (t.row + r) * cols_ + t.col + c;
        float v = value[static_cast<std::size_t>(c * t.rows + r)];
        if (product) v += product[at];
        // A full row keeps its own weight: feedback has nothing to make up for there.
        t.value[c * t.stride + r] = full_[static_cast<std::size_t>(t.row + r)] ? w[at] : v;
      }
  }

  format::WeightCode finish() override {
    format::WeightCode code{.layout = layout_, .rows = w_oi_.size(0), .cols = cols_};
    format::put_part("base", base_->finish().arrays, code.arrays);
    if (product_oi_.defined()) {
      format::put_part("left", left_.arrays, code.arrays);
      format::put_part("right", right_.arrays, code.arrays);
    }
    if (parts_.rows.empty()) return code;
    const auto n = static_cast<int64_t>(parts_.rows.size());
    std::vector<uint16_t> values;
    const float* w = w_oi_.const_data_ptr<float>();
    for (const int32_t o : parts_.rows)
      for (int64_t i = 0; i < cols_; ++i) values.push_back(format::f32_to_f16(w[o * cols_ + i]));
    code.arrays["rows"] = format::Array::of<int32_t>(ElementType::i32, {1, n}, parts_.rows);
    code.arrays["row_values"] = format::Array::of<uint16_t>(ElementType::f16, {n, cols_}, values);
    return code;
  }

 private:
  std::shared_ptr<const format::SumLayout> layout_;
  std::unique_ptr<Encoding> base_;
  SumParts parts_;
  at::Tensor w_oi_;  ///< rounded to float16: what full rows are stored as
  at::Tensor product_oi_;
  int64_t cols_ = 0;
  std::vector<bool> full_;
  format::WeightCode left_, right_;
};

}  // namespace

/// In the order in which the layout adds: rank by rank, in float32.
at::Tensor SumParts::product_oi() const {
  at::Tensor sum;
  for (int64_t k = 0; k < left_or.size(1); ++k) {
    const at::Tensor term = left_or.select(1, k).unsqueeze(1) * right_ri[k];
    sum = sum.defined() ? sum + term : term;
  }
  return sum.contiguous();
}

SumCode::SumCode(std::shared_ptr<const format::SumLayout> layout, ScaleRule rule, SumParts parts,
                 bool given)
    : layout_(std::move(layout)),
      base_(make_code(layout_->base(), rule)),
      factor_code_(make_code(layout_->factors(), rule)),
      parts_(std::move(parts)),
      given_(given) {
  for (const Code* code : {base_.get(), factor_code_.get()})
    CUPEL_CHECK(code->tile().rows == 1 && code->tile().cols == 1, user,
                "layout sum takes scalar layouts as its base and factors");
}

at::Tensor SumCode::rounded(const at::Tensor& w_oi, const Metric& metric) const {
  return decode(encoded(*base_, w_oi, metric));
}

void SumCode::fit_low_rank(const at::Tensor& residual_oi, const Metric& metric,
                           SumParts& parts) const {
  const int64_t rank = layout_->rank(residual_oi.size(0), residual_oi.size(1));
  if (rank == 0) return;
  // A weight of each input, even where the metric knows each weight: a decomposition has no other.
  at::Tensor h_i = weight_of(metric, residual_oi).to(at::kDouble);
  if (h_i.dim() == 2) h_i = h_i.mean(0);
  const at::Tensor root_i = (h_i + 1e-6 * (h_i.mean() + 1e-30)).sqrt();
  const auto [u, s, v] = at::linalg_svd(residual_oi.to(at::kDouble) * root_i, false);
  const at::Tensor half = s.slice(0, 0, rank).sqrt();
  const at::Tensor left = u.slice(1, 0, rank) * half;
  const at::Tensor right = half.unsqueeze(1) * v.slice(0, 0, rank) / root_i;
  parts.left_or = decode(encoded(*factor_code_, left.to(at::kFloat), {}));
  parts.right_ri = decode(encoded(*factor_code_, right.to(at::kFloat), {}));
}

SumParts SumCode::choose(const at::Tensor& w_oi, const Metric& metric) const {
  SumParts parts;
  const int64_t n = layout_->full_rows(w_oi.size(0));
  at::Tensor quantized_oi = rounded(w_oi, metric);
  if (n > 0) {
    const at::Tensor error_o =
        ((w_oi - quantized_oi).pow(2) * weight_of(metric, w_oi)).to(at::kDouble).sum(1);
    const double* error = error_o.const_data_ptr<double>();
    std::vector<int32_t> order(static_cast<std::size_t>(w_oi.size(0)));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return error[a] > error[b]; });
    parts.rows.assign(order.begin(), order.begin() + n);
    std::ranges::sort(parts.rows);
  }
  if (layout_->rank(w_oi.size(0), w_oi.size(1)) == 0) return parts;
  for (int k = 0; k < kAlternations; ++k) {
    at::Tensor residual_oi = w_oi - quantized_oi;
    for (const int32_t o : parts.rows) residual_oi[o].zero_();
    fit_low_rank(residual_oi, metric, parts);
    if (k + 1 < kAlternations) quantized_oi = rounded(w_oi - parts.product_oi(), metric);
  }
  return parts;
}

std::unique_ptr<Encoding> SumCode::fit(const at::Tensor& w_oi, const Metric& metric) const {
  const at::Tensor host_oi = host_float(w_oi);
  SumParts parts = given_ ? parts_ : choose(host_oi, metric);
  const at::Tensor base_oi =
      parts.left_or.defined() ? (host_oi - parts.product_oi()).contiguous() : host_oi;
  auto base = base_->fit(base_oi, metric);
  return std::make_unique<SumEncoding>(layout_, std::move(base), *factor_code_, as_half(host_oi),
                                       std::move(parts));
}

}  // namespace cupel::core
