// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Axes: o outputs, i inputs, g blocks along the inputs, b blocks along the outputs.
#include "core/codes/grid_code.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "core/codes/grid_scales.h"
#include "core/tensor_util.h"
#include "format/planes.h"

namespace cupel::core {
namespace {

using format::ElementType;

/// Raises the exponents of a row of blocks that are more than `span` below its largest: their steps
/// become coarser, nothing is clipped.
void lift(std::span<uint32_t> bits_g, uint32_t span) {
  const uint32_t largest = *std::ranges::max_element(bits_g);
  for (uint32_t& bits : bits_g)
    if (bits + span < largest) bits = largest - span;
}

class GridEncoding : public Encoding {
 public:
  GridEncoding(std::shared_ptr<const format::GridLayout> layout,
               std::shared_ptr<const Levels> levels, int64_t rows, int64_t cols, GridScales scales)
      : layout_(std::move(layout)),
        levels_(std::move(levels)),
        rows_(rows),
        cols_(cols),
        width_(layout_->block_cols(cols)),
        height_(layout_->block_rows(rows)),
        groups_(layout_->col_blocks(cols)),
        codes_(static_cast<std::size_t>(rows * cols)),
        step_(scales.bits_bg.size()),
        sign_(step_.size(), 1.0f),
        scale_(step_.size()),
        bits_(std::move(scales.bits_bg)),
        outer_(std::move(scales.outer)) {
    for (std::size_t k = 0; k < bits_.size(); ++k) {
      const float value = layout_->scale_value(bits_[k]);
      scale_[k] = std::fabs(value);
      step_[k] = scale_[k] * outer_of(static_cast<int64_t>(k) / groups_ * height_);
      if (layout_->spec().mirror && std::signbit(value)) sign_[k] = -1;
    }
  }

  float outer_of(int64_t o) const {
    if (outer_.empty()) return 1.0f;
    return outer_[outer_.size() == 1 ? 0 : static_cast<std::size_t>(o)];
  }

  void encode(const TileColumn& t) override {
    for (int64_t c = 0; c < t.cols; ++c) {
      const int64_t input = t.col + c, g = input / width_;
      for (int64_t r = 0; r < t.rows; ++r) {
        const int64_t o = t.row + r;
        const auto at = static_cast<std::size_t>(o / height_ * groups_ + g);
        const float sign = sign_[at], step = step_[at];
        const float x = t.target[c * t.stride + r];
        const int k = levels_->nearest(step > 0 ? sign * x / step : 0.0f);
        t.value[c * t.stride + r] = (sign * levels_->values()[k] * scale_[at]) * outer_of(o);
        const int code = levels_->code(k);
        codes_[static_cast<std::size_t>(o * cols_ + input)] =
            static_cast<uint8_t>(sign < 0 ? levels_->count() - 1 - code : code);
      }
    }
  }

  std::optional<ScalarRounding> scalar_rounding() const override {
    const auto blocks = static_cast<int64_t>(step_.size()) / groups_;
    return ScalarRounding{.step_bg = tensor_of(step_, {blocks, groups_}),
                          .scale_bg = tensor_of(scale_, {blocks, groups_}),
                          .zero_bg = {},
                          .levels = levels_,
                          .sign_bg = tensor_of(sign_, {blocks, groups_}),
                          .outer_o = outer_.empty()
                                         ? at::Tensor()
                                         : tensor_of(outer_, {static_cast<int64_t>(outer_.size())}),
                          .block_rows = height_,
                          .group_width = width_};
  }
  void set_codes(const at::Tensor& code_oi) override {
    const at::Tensor host_oi = code_oi.cpu().contiguous();
    const uint8_t* first = host_oi.const_data_ptr<uint8_t>();
    codes_.assign(first, first + host_oi.numel());
  }

  format::WeightCode finish() override {
    format::WeightCode code{.layout = layout_, .rows = rows_, .cols = cols_};
    code.arrays["codes"] = format::Array::of<uint8_t>(ElementType::u8, {rows_, cols_}, codes_);
    format::Array scales = format::empty_array(
        layout_->scale_array_type(), {static_cast<int64_t>(bits_.size()) / groups_, groups_});
    const std::size_t size = scales.bytes.size() / bits_.size();
    for (std::size_t i = 0; i < bits_.size(); ++i)
      std::memcpy(scales.bytes.data() + i * size, &bits_[i], size);
    code.arrays["scales"] = std::move(scales);
    if (!outer_.empty())
      code.arrays["outer"] = format::Array::of<float>(
          ElementType::f32, {static_cast<int64_t>(outer_.size()), 1}, outer_);
    return code;
  }

 private:
  std::shared_ptr<const format::GridLayout> layout_;
  std::shared_ptr<const Levels> levels_;
  int64_t rows_, cols_, width_, height_, groups_;
  std::vector<uint8_t> codes_;
  std::vector<float> step_, sign_, scale_;  ///< [b, g]; a step is a scale times the outer one
  std::vector<uint32_t> bits_;
  std::vector<float> outer_;
};

}  // namespace

GridCode::GridCode(std::shared_ptr<const format::GridLayout> layout, ScaleRule rule)
    : layout_(std::move(layout)),
      levels_(std::make_shared<Levels>(layout_->spec().levels)),
      rule_(rule) {
  CUPEL_ASSERT(!layout_->has_tables());
}

std::unique_ptr<Encoding> GridCode::fit(const at::Tensor& w_oi, const Metric& metric) const {
  GridScales scales = fit_scales(*layout_, *levels_, rule_, w_oi.contiguous(), metric);
  const int64_t rows = w_oi.size(0), groups = layout_->col_blocks(w_oi.size(1));
  if (const int span = layout_->spec().span; span > 0)
    for (int64_t b = 0; b < layout_->row_blocks(rows); ++b)
      lift(std::span(scales.bits_bg)
               .subspan(static_cast<std::size_t>(b * groups), static_cast<std::size_t>(groups)),
           static_cast<uint32_t>(span));
  return std::make_unique<GridEncoding>(layout_, levels_, rows, w_oi.size(1), std::move(scales));
}

}  // namespace cupel::core
