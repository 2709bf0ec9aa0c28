// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Axes: o outputs, i inputs, g blocks along the inputs, b blocks along the outputs.
#include "core/codes/grid_code.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "core/codes/scale_search.h"
#include "core/parallel.h"
#include "core/tensor_util.h"
#include "format/planes.h"

namespace cupel::core {
namespace {

using format::ElementType;
using format::OuterScale;
using format::ScaleType;

// Largest E4M3 scale when scales are taken from extremes, and when a search may want up to 1.3
// times that ("Four Over Six" leaves the same room).
constexpr float kLargestE4m3 = 448, kLargestSearched = 256;
constexpr int kRowScales = 24;  // outer scales that are tried where blocks hold multipliers

class GridEncoding : public Encoding {
 public:
  GridEncoding(std::shared_ptr<const format::GridLayout> layout,
               std::shared_ptr<const Levels> levels, int64_t rows, int64_t cols)
      : layout_(std::move(layout)),
        levels_(std::move(levels)),
        rows_(rows),
        cols_(cols),
        width_(layout_->block_cols(cols)),
        height_(layout_->block_rows(rows)),
        groups_(layout_->col_blocks(cols)),
        codes_(static_cast<std::size_t>(rows * cols)),
        step_(static_cast<std::size_t>(layout_->row_blocks(rows) * groups_)),
        sign_(step_.size(), 1.0f),
        scale_(step_.size()),
        bits_(step_.size()) {}

  void set(int64_t b, int64_t g, const StoredScale& s) {
    const auto at = static_cast<std::size_t>(b * groups_ + g);
    step_[at] = s.step;
    sign_[at] = s.sign;
    bits_[at] = s.bits;
    scale_[at] = std::fabs(layout_->scale_value(s.bits));
  }
  /// Raises the exponents of a row of blocks that are more than `span` below its largest: their
  /// steps become coarser, nothing is clipped.
  void lift(int64_t b, uint32_t span) {
    const auto first = bits_.begin() + b * groups_, last = first + groups_;
    const uint32_t largest = *std::max_element(first, last);
    for (auto at = first; at != last; ++at) {
      if (*at + span >= largest) continue;
      *at = largest - span;
      const auto k = static_cast<std::size_t>(at - bits_.begin());
      step_[k] = scale_[k] = layout_->scale_value(*at);
    }
  }
  float outer_of(int64_t o) const {
    if (outer_.empty()) return 1.0f;
    return outer_[outer_.size() == 1 ? 0 : static_cast<std::size_t>(o)];
  }
  void set_outer(std::vector<float> outer) { outer_ = std::move(outer); }

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

/// The numbers of one block beside each other, with their weights.
struct Block {
  std::vector<float> w, weight;
  void gather(const float* w_oi, const Metric& metric, const std::vector<float>& ones, int64_t cols,
              int64_t row, int64_t rows, int64_t col, int64_t count) {
    w.clear();
    weight.clear();
    for (int64_t o = row; o < row + rows; ++o) {
      w.insert(w.end(), w_oi + o * cols + col, w_oi + o * cols + col + count);
      const float* h = metric.row(o, ones) + col;
      weight.insert(weight.end(), h, h + count);
    }
  }
};

float extreme_of(const float* w, int64_t n) {
  float largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(w[i]));
  return largest;
}

}  // namespace

GridCode::GridCode(std::shared_ptr<const format::GridLayout> layout, ScaleRule rule)
    : layout_(std::move(layout)),
      levels_(std::make_shared<Levels>(layout_->spec().levels)),
      rule_(rule) {
  CUPEL_ASSERT(!layout_->has_tables());
}

/// Scales above the blocks' from the extremes: of the matrix, or of each row.
std::vector<float> GridCode::outer_scales(const at::Tensor& w_oi) const {
  const auto& spec = layout_->spec();
  if (spec.outer == OuterScale::none) return {};
  const float* w = w_oi.const_data_ptr<float>();
  const int64_t rows = w_oi.size(0), cols = w_oi.size(1);
  const float room = spec.scale == ScaleType::multiplier ? format::kLargestMultiplier
                     : rule_ == ScaleRule::minmax        ? kLargestE4m3
                                                         : kLargestSearched;
  const auto outer_of = [&](float extreme) {
    return extreme > 0 ? std::max(extreme / (levels_->largest() * room), 0x1p-120f) : 1.0f;
  };
  if (spec.outer == OuterScale::tensor) return {outer_of(extreme_of(w, rows * cols))};
  std::vector<float> outer;
  for (int64_t o = 0; o < rows; ++o) outer.push_back(outer_of(extreme_of(w + o * cols, cols)));
  return outer;
}

std::unique_ptr<Encoding> GridCode::fit(const at::Tensor& w_oi, const Metric& metric) const {
  const at::Tensor host_oi = host_float(w_oi);
  const int64_t rows = host_oi.size(0), cols = host_oi.size(1);
  const int64_t width = layout_->block_cols(cols), height = layout_->block_rows(rows);
  const int64_t groups = layout_->col_blocks(cols);
  const float* w = host_oi.const_data_ptr<float>();
  const std::vector<float> ones(static_cast<std::size_t>(cols), 1.0f);
  std::vector<float> outer = outer_scales(host_oi);
  auto encoding = std::make_unique<GridEncoding>(layout_, levels_, rows, cols);
  const ScaleSearch search(*layout_, *levels_, rule_);
  const auto fit_blocks = [&](int64_t b, float above, bool keep) {
    double error = 0;
    Block block;
    for (int64_t g = 0; g < groups; ++g) {
      block.gather(w, metric, ones, cols, b * height, std::min(height, rows - b * height),
                   g * width, std::min(width, cols - g * width));
      const StoredScale s = search.best(block.w, block.weight.data(), above);
      if (keep) encoding->set(b, g, s);
      error += s.error;
    }
    return error;
  };
  parallel_for(0, layout_->row_blocks(rows), 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      float above =
          outer.empty() ? 1.0f : outer[outer.size() == 1 ? 0 : static_cast<std::size_t>(b)];
      if (layout_->spec().outer == OuterScale::row && rule_ != ScaleRule::minmax) {
        const float start = above;
        double least = fit_blocks(b, start, false);
        for (int k = 1; k <= kRowScales; ++k) {
          const float tried = start * (0.6f + 0.6f * static_cast<float>(k) / kRowScales);
          const double error = fit_blocks(b, tried, false);
          if (!(error < least)) continue;
          least = error;
          above = tried;
        }
        outer[static_cast<std::size_t>(b)] = above;
      }
      fit_blocks(b, above, true);
      if (layout_->spec().span > 0) encoding->lift(b, static_cast<uint32_t>(layout_->spec().span));
    }
  });
  encoding->set_outer(std::move(outer));
  return encoding;
}

}  // namespace cupel::core
