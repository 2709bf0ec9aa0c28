// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// Idea: precision where it matters, in the units that memory and kernels like: tiles.
// Formula: S_T = sum_{ij in T} h_j (w_ij - Q(w_ij))^2; the tiles with the largest S_T stay wide.
// Source: the TileQuant seed (activation-aware score; with squared gradients as weights the other).
// Cost: one rounding of the matrix per part.
// Differs: parts may be any layouts; a score is what the wider part gains, not what the narrow
// loses.
#include "core/codes/mixed_code.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "core/tensor_util.h"
#include "format/composite.h"

namespace cupel::core {
namespace {

/// The tiles of one part above each other, with their weights. Axes: u rows of stacked tiles.
struct Stack {
  at::Tensor w_ui;
  Metric metric;
};

struct TileShape2 {
  int64_t rows, cols, across;
};

TileShape2 tiles_of(const format::MixedLayout& layout, const at::Tensor& w_oi) {
  return {layout.tile_rows(w_oi.size(0)), layout.tile_cols(w_oi.size(1)),
          layout.tiles_across(w_oi.size(1))};
}

/// Stacks the tiles that `map` gives to `part`; padding is zero and weighs nothing.
Stack stack_of(const at::Tensor& w_oi, const Metric& metric, const TileMap& map, int part,
               const TileShape2& tile) {
  const int64_t rows = w_oi.size(0), cols = w_oi.size(1);
  const int64_t count = std::ranges::count(map, static_cast<uint8_t>(part));
  Stack stack{at::zeros({count * tile.rows, tile.cols}, at::kFloat), {}};
  stack.metric.weight = at::zeros({count * tile.rows, tile.cols}, at::kFloat);
  const std::vector<float> ones(static_cast<std::size_t>(cols), 1.0f);
  const float* w = w_oi.const_data_ptr<float>();
  float* to = stack.w_ui.mutable_data_ptr<float>();
  float* weight = stack.metric.weight.mutable_data_ptr<float>();
  format::each_tile(map, tile.across, tile.rows, tile.cols,
                    [&](int p, int64_t index, int64_t row, int64_t col) {
                      if (p != part) return;
                      const int64_t n = std::min(tile.cols, cols - col);
                      for (int64_t r = 0; r < std::min(tile.rows, rows - row); ++r) {
                        const int64_t at = (index * tile.rows + r) * tile.cols;
                        std::copy_n(w + (row + r) * cols + col, n, to + at);
                        std::copy_n(metric.row(row + r, ones) + col, n, weight + at);
                      }
                    });
  return stack;
}

class MixedEncoding : public Encoding {
 public:
  MixedEncoding(const format::MixedLayout& layout, TileMap map, const TileShape2& tile,
                int64_t rows, int64_t cols)
      : map_(std::move(map)), tile_(tile), rows_(rows), cols_(cols), index_(map_.size()) {
    format::MixedParams params = layout.settings();
    for (auto& part : params.parts) part.tiles = 0;
    for (std::size_t t = 0; t < map_.size(); ++t) index_[t] = params.parts[map_[t]].tiles++;
    layout_ = std::make_shared<format::MixedLayout>(params);
    parts_.resize(params.parts.size());
  }

  void set(std::size_t part, std::unique_ptr<Encoding> encoding) {
    parts_[part] = std::move(encoding);
  }

  void encode(const TileColumn& t) override {
    for (int64_t c = 0; c < t.cols;) {
      const int64_t input = t.col + c, across = input / tile_.cols, in_tile = input % tile_.cols;
      const int64_t cols = std::min(t.cols - c, tile_.cols - in_tile);
      for (int64_t r = 0; r < t.rows;) {
        const int64_t row = t.row + r, down = row / tile_.rows, above = row % tile_.rows;
        const auto at = static_cast<std::size_t>(down * tile_.across + across);
        const int64_t rows = std::min(t.rows - r, tile_.rows - above);
        TileColumn inner = t;
        inner.row = index_[at] * tile_.rows + above;
        inner.rows = rows;
        inner.col = in_tile;
        inner.cols = cols;
        inner.target = t.target + c * t.stride + r;
        inner.value = t.value + c * t.stride + r;
        parts_[map_[at]]->encode(inner);
        r += rows;
      }
      c += cols;
    }
  }

  format::WeightCode finish() override {
    format::WeightCode code{.layout = layout_, .rows = rows_, .cols = cols_};
    const auto down = static_cast<int64_t>(map_.size()) / tile_.across;
    code.arrays["map"] =
        format::Array::of<uint8_t>(format::ElementType::u8, {down, tile_.across}, map_);
    for (std::size_t p = 0; p < parts_.size(); ++p)
      if (parts_[p]) {
        fill_padding(p);
        format::put_part(cat(p), parts_[p]->finish().arrays, code.arrays);
      }
    return code;
  }

 private:
  /// What no tile column reaches, the padding of tiles at the edge, becomes zero like the rest.
  void fill_padding(std::size_t part) {
    const std::vector<float> zero(static_cast<std::size_t>(tile_.rows * tile_.cols));
    std::vector<float> value(zero.size());
    const auto fill = [&](int64_t row, int64_t rows, int64_t col, int64_t cols) {
      if (rows > 0 && cols > 0)
        parts_[part]->encode({.row = row,
                              .rows = rows,
                              .col = col,
                              .cols = cols,
                              .stride = tile_.rows,
                              .target = zero.data(),
                              .value = value.data()});
    };
    format::each_tile(map_, tile_.across, tile_.rows, tile_.cols,
                      [&](int p, int64_t index, int64_t row, int64_t col) {
                        if (static_cast<std::size_t>(p) != part) return;
                        const int64_t rows = std::min(tile_.rows, rows_ - row);
                        const int64_t cols = std::min(tile_.cols, cols_ - col);
                        fill(index * tile_.rows + rows, tile_.rows - rows, 0, tile_.cols);
                        fill(index * tile_.rows, rows, cols, tile_.cols - cols);
                      });
  }

  std::shared_ptr<const format::MixedLayout> layout_;
  TileMap map_;
  TileShape2 tile_;
  int64_t rows_, cols_;
  std::vector<int64_t> index_;  ///< of each tile in its part
  std::vector<std::unique_ptr<Encoding>> parts_;
};

}  // namespace

MixedCode::MixedCode(std::shared_ptr<const format::MixedLayout> layout, ScaleRule rule, TileMap map)
    : layout_(std::move(layout)), rule_(rule), map_(std::move(map)) {
  for (const auto& part : layout_->parts()) {
    codes_.push_back(make_code(part, rule));
    CUPEL_CHECK(codes_.back()->tile().rows == 1 && codes_.back()->tile().cols == 1, user,
                "layout mixed takes scalar layouts as parts, not ", part->description());
  }
}

at::Tensor MixedCode::tile_errors(const at::Tensor& w_oi, const Metric& metric) const {
  const at::Tensor host_oi = host_float(w_oi);
  const TileShape2 tile = tiles_of(*layout_, host_oi);
  Metric judge = metric;
  if (metric.tile_i.defined()) judge.weight = metric.tile_i;
  const int64_t tiles = layout_->tiles_down(host_oi.size(0)) * tile.across;
  const TileMap all(static_cast<std::size_t>(tiles), 0);
  const Stack stack = stack_of(host_oi, metric, all, 0, tile);
  const Stack judged = stack_of(host_oi, judge, all, 0, tile);
  at::Tensor errors = at::zeros({static_cast<int64_t>(codes_.size()), tiles}, at::kDouble);
  for (std::size_t p = 0; p < codes_.size(); ++p) {
    const auto encoding = codes_[p]->fit(stack.w_ui, stack.metric);
    const at::Tensor target_iu = stack.w_ui.t().contiguous();
    const at::Tensor value_iu = encoding->encode_on_device(0, target_iu, nullptr);
    const at::Tensor error_ui = ((target_iu - value_iu).t()).pow(2) * judged.metric.weight;
    errors[static_cast<int64_t>(p)].copy_(error_ui.to(at::kDouble).reshape({tiles, -1}).sum(1));
  }
  return errors;
}

TileMap MixedCode::choose(const at::Tensor& w_oi, const Metric& metric) const {
  const at::Tensor errors = tile_errors(w_oi, metric);
  const int64_t tiles = errors.size(1);
  const auto counts = layout_->tile_counts(w_oi.size(0), w_oi.size(1));
  TileMap map(static_cast<std::size_t>(tiles), 0);
  std::vector<std::size_t> left(map.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (std::size_t p = counts.size(); p-- > 1;) {
    const double* wide = errors[static_cast<int64_t>(p)].const_data_ptr<double>();
    const double* narrow = errors[0].const_data_ptr<double>();
    std::ranges::stable_sort(left, [&](std::size_t a, std::size_t b) {
      return narrow[a] - wide[a] > narrow[b] - wide[b];
    });
    for (int64_t k = 0; k < counts[p]; ++k)
      map[left[static_cast<std::size_t>(k)]] = static_cast<uint8_t>(p);
    left.erase(left.begin(), left.begin() + counts[p]);
  }
  return map;
}

std::unique_ptr<Encoding> MixedCode::fit(const at::Tensor& w_oi, const Metric& metric) const {
  const at::Tensor host_oi = host_float(w_oi);
  const TileShape2 tile = tiles_of(*layout_, host_oi);
  TileMap map = map_.empty() ? choose(host_oi, metric) : map_;
  CUPEL_ASSERT(static_cast<int64_t>(map.size()) ==
               layout_->tiles_down(host_oi.size(0)) * tile.across);
  auto encoding =
      std::make_unique<MixedEncoding>(*layout_, map, tile, host_oi.size(0), host_oi.size(1));
  for (std::size_t p = 0; p < codes_.size(); ++p) {
    const Stack stack = stack_of(host_oi, metric, map, static_cast<int>(p), tile);
    if (stack.w_ui.size(0) > 0) encoding->set(p, codes_[p]->fit(stack.w_ui, stack.metric));
  }
  return encoding;
}

}  // namespace cupel::core
