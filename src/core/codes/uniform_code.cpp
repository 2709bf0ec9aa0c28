// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: a scalar grid per group; clipping its range trades few large errors for many small ones.
// Formula: min over p in (0.2, 1] of sum_i h_i (w_i - s k_i)^2, k = clamp(round(w / s)), s ~ p.
// Source: "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers".
// Cost: one pass over the weight, 100 for the search.
// Differs: squared error in the metric, not a p-norm of 2.4; scales are rounded, then judged.
//
// Axes: o outputs, i inputs, g groups of inputs.
#include "core/codes/uniform_code.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/vector_clones.h"
#include "core/feedback_device.h"
#include "core/parallel.h"
#include "core/tensor_util.h"
#include "kernels/cuda/columns.h"

namespace cupel::core {
namespace {

// Weights whose grids are fitted by one thread at a time; fewer are not worth waking it.
constexpr int64_t kGrain = 32768;
constexpr int kShrinkSteps = 100;
constexpr float kSmallestShrink = 0.2f;
constexpr float kSmallestHalf = 0x1p-24f, kLargestHalf = 65504.0f;
// Adding and subtracting 1.5 * 2^23 rounds a float below 2^22 to an integer, halves to even.
constexpr float kRounder = 12582912.0f;

/// Weighted squared error of n values on the grid. Lanes fix the order of the sum for every vector
/// width.
CUPEL_VECTOR_CLONES
float grid_error(const float* w, const float* weight, int64_t n, const UniformGrid& grid) {
  constexpr int64_t kLanes = 16;
  const float scale = grid.scale, inverse = 1 / grid.step, low = grid.low, high = grid.high;
  float sums[kLanes] = {};
  const auto add = [&](int64_t i, int64_t lane) {
    const float k = (std::min(std::max(w[i] * inverse, low), high) + kRounder) - kRounder;
    const float e = w[i] - scale * k;
    sums[lane] += weight[i] * (e * e);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) add(i + l, l);
  for (int64_t l = 0; i < n; ++i, ++l) add(i, l);
  float total = 0;
  for (const float s : sums) total += s;
  return total;
}

/// Rows of one input: targets to values and codes. Grids lie in arrays, one entry per row.
CUPEL_VECTOR_CLONES
void round_rows(int64_t rows, float top, const float* target, const float* scale, const float* step,
                const float* zero, float* value, uint8_t* code) {
  for (int64_t r = 0; r < rows; ++r) {
    const float low = -zero[r], high = top - zero[r];
    const float k = (std::min(std::max(target[r] / step[r], low), high) + kRounder) - kRounder;
    value[r] = scale[r] * k;
    code[r] = static_cast<uint8_t>(static_cast<int32_t>(k + zero[r]));
  }
}

class UniformEncoding : public Encoding {
 public:
  UniformEncoding(std::shared_ptr<const format::UniformLayout> layout, int64_t rows, int64_t cols)
      : layout_(std::move(layout)),
        rows_(rows),
        cols_(cols),
        width_(layout_->group_width(cols)),
        groups_(layout_->groups(cols)),
        top_(static_cast<float>((1 << layout_->bits_per_code()) - 1)),
        scale_go_(at::empty({groups_, rows}, at::kFloat)),
        step_go_(at::empty({groups_, rows}, at::kFloat)),
        zero_go_(at::empty({groups_, rows}, at::kFloat)) {}

  void set(int64_t row, int64_t group, const UniformGrid& g) {
    const int64_t at = group * rows_ + row;
    scale_go_.mutable_data_ptr<float>()[at] = g.scale;
    step_go_.mutable_data_ptr<float>()[at] = g.step;
    zero_go_.mutable_data_ptr<float>()[at] = g.zero;
  }

  /// The same for all groups: [g, o] each.
  void set_all(const at::Tensor& scale_go, const at::Tensor& zero_go) {
    scale_go_.copy_(scale_go);
    step_go_.copy_(scale_go);
    zero_go_.copy_(zero_go);
  }

  /// Call after the last set(), before the first tile.
  void place(at::Device device) {
    for (at::Tensor* t : {&scale_go_, &step_go_, &zero_go_}) *t = t->to(device);
    codes_io_ = at::empty({cols_, rows_}, at::TensorOptions(at::kByte).device(device));
  }

  /// In place of set() and place(): fits all groups on the GPU where w lies.
  void fit_on_device(const at::Tensor& w_oi, const Metric& metric, ScaleRule rule) {
    place(w_oi.device());
    const at::Tensor weight =
        metric.weight.defined() ? metric.weight.to(w_oi.device()) : at::Tensor();
    kernels::cuda::fit_uniform(
        {.rows = rows_,
         .inputs = cols_,
         .group_width = width_,
         .w_oi = w_oi.const_data_ptr<float>(),
         .weight_oi = weight.defined() ? weight.const_data_ptr<float>() : nullptr,
         .weight_row_stride = weight.defined() && weight.dim() == 2 ? cols_ : 0,
         .top = top_,
         .symmetric = layout_->symmetric(),
         .search = rule != ScaleRule::minmax,
         .scale_go = scale_go_.mutable_data_ptr<float>(),
         .step_go = step_go_.mutable_data_ptr<float>(),
         .zero_go = zero_go_.mutable_data_ptr<float>()},
        w_oi.device().index());
  }

  void encode(const TileColumn& t) override {
    for (int64_t c = 0; c < t.cols; ++c) {
      const int64_t input = t.col + c, at = input / width_ * rows_ + t.row;
      round_rows(t.rows, top_, t.target + c * t.stride, scale_go_.const_data_ptr<float>() + at,
                 step_go_.const_data_ptr<float>() + at, zero_go_.const_data_ptr<float>() + at,
                 t.value + c * t.stride,
                 codes_io_.mutable_data_ptr<uint8_t>() + input * rows_ + t.row);
    }
  }

  at::Tensor encode_on_device(int64_t col, const at::Tensor& target_do, const double*) override {
    at::Tensor value_do = at::empty(target_do.sizes(), target_do.options());
    for (int64_t c = 0; c < target_do.size(0); ++c) {
      const int64_t g = (col + c) / width_;
      const at::Tensor zero_o = zero_go_[g], scaled_o = target_do[c] / step_go_[g];
      const at::Tensor k_o = at::minimum(at::maximum(scaled_o, -zero_o), top_ - zero_o).round_();
      codes_io_[col + c].copy_(k_o + zero_o);
      value_do[c].copy_(scale_go_[g] * k_o);
    }
    return value_do;
  }

  std::optional<ScalarRounding> scalar_rounding() const override {
    return ScalarRounding{.step_bg = step_go_.t(),
                          .scale_bg = scale_go_.t(),
                          .zero_bg = zero_go_.t(),
                          .top = top_,
                          .levels = nullptr,
                          .sign_bg = {},
                          .outer_o = {},
                          .group_width = width_};
  }
  void set_codes(const at::Tensor& code_oi) override { codes_io_ = code_oi.t(); }

  format::WeightCode finish() override {
    format::WeightCode code{.layout = layout_, .rows = rows_, .cols = cols_};
    code.arrays["codes"] = array_of(codes_io_.t());
    code.arrays["scales"] = array_of(scale_go_.t().to(at::kHalf));
    if (!layout_->symmetric()) code.arrays["zeros"] = array_of(zero_go_.t().to(at::kByte));
    return code;
  }

 private:
  std::shared_ptr<const format::UniformLayout> layout_;
  int64_t rows_, cols_, width_, groups_;
  float top_;
  at::Tensor scale_go_, step_go_, zero_go_;  ///< transposed: the rows of a tile column lie together
  at::Tensor codes_io_;
};

}  // namespace

UniformGrid UniformFitter::fit(const float* w, const float* weight, int64_t n) const {
  const auto [min, max] = std::minmax_element(w, w + n);
  const float low = std::min(*min, 0.0f), high = std::max(*max, 0.0f);
  UniformGrid best = over(low, high);
  if (rule_ == ScaleRule::minmax || std::isinf(best.step)) return best;
  float least = grid_error(w, weight, n, best), last_scale = best.scale, last_zero = best.zero;
  for (int k = 1; k < kShrinkSteps; ++k) {
    const float shrink = 1 - (1 - kSmallestShrink) * static_cast<float>(k) / kShrinkSteps;
    const UniformGrid grid = over(low * shrink, high * shrink);
    if (grid.scale == last_scale && grid.zero == last_zero) continue;
    last_scale = grid.scale;
    last_zero = grid.zero;
    const float error = grid_error(w, weight, n, grid);
    if (!(error < least)) continue;
    least = error;
    best = grid;
  }
  return best;
}

UniformGrid UniformFitter::over(float low, float high) const {
  UniformGrid g;
  const float middle = (top_ + 1) / 2;
  // Halved first: the sum of two large numbers could overflow. One bit has no code above the
  // middle: its grid is {-s, 0}.
  const float range = symmetric_ ? std::max(-low, high) / std::max(middle - 1, 1.0f)
                                 : (high / 2 - low / 2) / (top_ / 2);
  if (range == 0) {
    g.step = std::numeric_limits<float>::infinity();
  } else {
    const float bounded = std::clamp(range, kSmallestHalf, kLargestHalf);
    g.scale = g.step = format::f16_to_f32(format::f32_to_f16(bounded));
  }
  if (symmetric_)
    g.zero = middle;
  else
    g.zero = std::clamp(std::nearbyint(-low / g.step), 0.0f, top_);
  g.low = -g.zero;
  g.high = top_ - g.zero;
  return g;
}

std::unique_ptr<Encoding> UniformCode::fit(const at::Tensor& w_oi, const Metric& metric) const {
  const int64_t rows = w_oi.size(0), cols = w_oi.size(1), width = layout_->group_width(cols);
  auto encoding = std::make_unique<UniformEncoding>(layout_, rows, cols);
  if (has_rounding_kernels(w_oi.device())) {
    encoding->fit_on_device(w_oi.contiguous(), metric, rule_);
    return encoding;
  }
  const at::Tensor host_oi = host_float(w_oi);
  const std::vector<float> ones(static_cast<std::size_t>(cols), 1.0f);
  const float* w = host_oi.const_data_ptr<float>();
  const UniformFitter fitter(layout_->bits_per_code(), layout_->symmetric(), rule_);
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / cols), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o)
      for (int64_t g = 0, i = 0; i < cols; ++g, i += width)
        encoding->set(
            o, g, fitter.fit(w + o * cols + i, metric.row(o, ones) + i, std::min(width, cols - i)));
  });
  encoding->place(w_oi.device());
  return encoding;
}

GivenUniformCode::GivenUniformCode(const format::WeightCode& grids)
    : layout_(std::dynamic_pointer_cast<const format::UniformLayout>(grids.layout)) {
  CUPEL_ASSERT(layout_);
  scale_og_ = host_float(tensor_of(grids.arrays.at("scales")));
  zero_og_ =
      layout_->symmetric()
          ? at::full_like(scale_og_, static_cast<double>(1 << (layout_->bits_per_code() - 1)))
          : host_float(tensor_of(grids.arrays.at("zeros")));
}

std::unique_ptr<Encoding> GivenUniformCode::fit(const at::Tensor& w_oi, const Metric&) const {
  CUPEL_ASSERT(w_oi.size(0) == scale_og_.size(0) &&
               layout_->groups(w_oi.size(1)) == scale_og_.size(1));
  auto encoding = std::make_unique<UniformEncoding>(layout_, w_oi.size(0), w_oi.size(1));
  encoding->set_all(scale_og_.t(), zero_og_.t());
  encoding->place(w_oi.device());
  return encoding;
}

}  // namespace cupel::core
