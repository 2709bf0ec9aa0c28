// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: cut codes off instead of rounding them, and add back what was cut off on average.
// Formula: w = s (q 2^k + c - z), q = floor(code / 2^k), c = sum h s^2 (code mod 2^k) / sum h s^2.
// Source: the MatMoE seed (floor and compensation), our reading.
// Cost: that of the uniform code.
// Differs: c is fitted to the codes of plain rounding, before feedback changes them: what is
// decoded must not move while codes are chosen.
#include "core/codes/nested_code.h"

#include <algorithm>
#include <cmath>

#include "core/codes/uniform_code.h"
#include "core/parallel.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

using format::ElementType;

class NestedEncoding : public Encoding {
 public:
  NestedEncoding(std::shared_ptr<const format::NestedLayout> layout, int64_t rows, int64_t cols)
      : layout_(std::move(layout)),
        rows_(rows),
        cols_(cols),
        width_(layout_->group_width(cols)),
        groups_(layout_->groups(cols)),
        dropped_(layout_->bits() - layout_->kept()),
        top_(static_cast<float>((1 << layout_->bits()) - 1)),
        grids_(static_cast<std::size_t>(rows * groups_)),
        centres_(static_cast<std::size_t>(layout_->bits())),
        codes_(static_cast<std::size_t>(rows * cols)) {}

  UniformGrid& grid(int64_t row, int64_t group) {
    return grids_[static_cast<std::size_t>(row * groups_ + group)];
  }
  void set_centres(std::vector<float> centres) { centres_ = std::move(centres); }

  void encode(const TileColumn& t) override {
    const float centre = centres_[static_cast<std::size_t>(layout_->kept() - 1)];
    for (int64_t c = 0; c < t.cols; ++c)
      for (int64_t r = 0; r < t.rows; ++r) {
        const int64_t input = t.col + c;
        const UniformGrid& g = grid(t.row + r, input / width_);
        const float x = t.target[c * t.stride + r] / g.step + g.zero;
        // In units of the kept prefix; without dropped bits the centre is zero.
        const float unit = static_cast<float>(1 << dropped_), last = std::floor(top_ / unit);
        const float q = std::clamp(std::nearbyint((x - centre) / unit), 0.0f, last) * unit;
        t.value[c * t.stride + r] = g.scale * ((q - g.zero) + centre);
        codes_[static_cast<std::size_t>((t.row + r) * cols_ + input)] = static_cast<uint8_t>(q);
      }
  }

  format::WeightCode finish() override {
    std::vector<uint16_t> scales;
    std::vector<uint8_t> zeros;
    for (const UniformGrid& g : grids_) {
      scales.push_back(format::f32_to_f16(g.scale));
      zeros.push_back(static_cast<uint8_t>(g.zero));
    }
    format::WeightCode code{.layout = layout_, .rows = rows_, .cols = cols_};
    code.arrays["codes"] = format::Array::of<uint8_t>(ElementType::u8, {rows_, cols_}, codes_);
    code.arrays["scales"] = format::Array::of<uint16_t>(ElementType::f16, {rows_, groups_}, scales);
    code.arrays["zeros"] = format::Array::of<uint8_t>(ElementType::u8, {rows_, groups_}, zeros);
    code.arrays["centres"] = format::Array::of<float>(
        ElementType::f32, {1, static_cast<int64_t>(centres_.size())}, centres_);
    return code;
  }

 private:
  std::shared_ptr<const format::NestedLayout> layout_;
  int64_t rows_, cols_, width_, groups_;
  int dropped_;
  float top_;
  std::vector<UniformGrid> grids_;
  std::vector<float> centres_;
  std::vector<uint8_t> codes_;
};

}  // namespace

std::unique_ptr<Encoding> NestedCode::fit(const at::Tensor& w_oi, const Metric& metric) const {
  const at::Tensor host_oi = host_float(w_oi);
  const int64_t rows = host_oi.size(0), cols = host_oi.size(1), width = layout_->group_width(cols);
  const int bits = layout_->bits();
  const float* w = host_oi.const_data_ptr<float>();
  const float top = static_cast<float>((1 << bits) - 1);
  const std::vector<float> ones(static_cast<std::size_t>(cols), 1.0f);
  const UniformFitter fitter(bits, false, rule_);
  auto encoding = std::make_unique<NestedEncoding>(layout_, rows, cols);
  parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o)
      for (int64_t g = 0, i = 0; i < cols; ++g, i += width)
        encoding->grid(o, g) =
            fitter.fit(w + o * cols + i, metric.row(o, ones) + i, std::min(width, cols - i));
  });
  std::vector<double> weight(static_cast<std::size_t>(bits)), rest(weight.size());
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t i = 0; i < cols; ++i) {
      const UniformGrid& g = encoding->grid(o, i / width);
      const auto code = static_cast<int>(
          std::clamp(std::nearbyint(w[o * cols + i] / g.step + g.zero), 0.0f, top));
      const double h = static_cast<double>(metric.row(o, ones)[i]) * g.scale * g.scale;
      for (int b = 1; b < bits; ++b) {
        weight[static_cast<std::size_t>(b - 1)] += h;
        rest[static_cast<std::size_t>(b - 1)] += h * (code & ((1 << (bits - b)) - 1));
      }
    }
  std::vector<float> centres(weight.size(), 0.0f);
  for (int b = 1; b < bits; ++b) {
    const auto at = static_cast<std::size_t>(b - 1);
    centres[at] =
        static_cast<float>(weight[at] > 0 ? rest[at] / weight[at] : ((1 << (bits - b)) - 1) / 2.0);
  }
  encoding->set_centres(std::move(centres));
  return encoding;
}

}  // namespace cupel::core
