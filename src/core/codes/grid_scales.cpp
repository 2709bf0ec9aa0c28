// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/codes/grid_scales.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>

#include <algorithm>

#include "core/codes/scale_search.h"
#include "core/parallel.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

using format::OuterScale;
using format::ScaleType;

// Largest E4M3 scale when scales are taken from extremes, and when a search may want up to 1.3
// times that ("Four Over Six" leaves the same room).
constexpr float kLargestE4m3 = 448, kLargestSearched = 256;
constexpr int kRowScales = 24;  // outer scales that are tried where blocks hold multipliers

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

class HostFitter : public BlockFitter {
 public:
  explicit HostFitter(const GridProblem& p)
      : problem_(p),
        host_oi_(host_float(p.w_oi)),
        rows_(host_oi_.size(0)),
        cols_(host_oi_.size(1)),
        ones_(static_cast<std::size_t>(cols_), 1.0f) {}

  std::vector<uint32_t> bits_bg(const std::vector<float>& outer) const override {
    const int64_t groups = problem_.layout.col_blocks(cols_);
    std::vector<uint32_t> bits(
        static_cast<std::size_t>(problem_.layout.row_blocks(rows_) * groups));
    for_blocks(outer, [&](int64_t b, int64_t g, const StoredScale& s) {
      bits[static_cast<std::size_t>(b * groups + g)] = s.bits;
    });
    return bits;
  }
  std::vector<double> error_b(const std::vector<float>& outer) const override {
    std::vector<double> error(static_cast<std::size_t>(problem_.layout.row_blocks(rows_)));
    for_blocks(outer, [&](int64_t b, int64_t, const StoredScale& s) {
      error[static_cast<std::size_t>(b)] += s.error;
    });
    return error;
  }

 private:
  /// Calls use(b, g, scale), in order of g for each b.
  template <class Use>
  void for_blocks(const std::vector<float>& outer, const Use& use) const {
    const auto& layout = problem_.layout;
    const int64_t width = layout.block_cols(cols_), height = layout.block_rows(rows_);
    const ScaleSearch search(layout, problem_.levels, problem_.rule);
    const float* w = host_oi_.const_data_ptr<float>();
    parallel_for(0, layout.row_blocks(rows_), 1, [&](int64_t begin, int64_t end) {
      Block block;
      for (int64_t b = begin; b < end; ++b) {
        const float above =
            outer.empty() ? 1.0f : outer[outer.size() == 1 ? 0 : static_cast<std::size_t>(b)];
        for (int64_t g = 0; g < layout.col_blocks(cols_); ++g) {
          block.gather(w, problem_.metric, ones_, cols_, b * height,
                       std::min(height, rows_ - b * height), g * width,
                       std::min(width, cols_ - g * width));
          use(b, g, search.best(block.w, block.weight.data(), above));
        }
      }
    });
  }

  GridProblem problem_;
  at::Tensor host_oi_;
  int64_t rows_, cols_;
  std::vector<float> ones_;
};

/// Scales above the blocks' from the extremes: of the matrix, or of each row.
std::vector<float> outer_of_extremes(const GridProblem& p) {
  const auto& spec = p.layout.spec();
  if (spec.outer == OuterScale::none) return {};
  const float room = spec.scale == ScaleType::multiplier ? format::kLargestMultiplier
                     : p.rule == ScaleRule::minmax       ? kLargestE4m3
                                                         : kLargestSearched;
  const at::Tensor abs_oi = p.w_oi.abs();
  const at::Tensor extreme =
      host_float(spec.outer == OuterScale::tensor ? abs_oi.amax().reshape({1}) : abs_oi.amax(1));
  std::vector<float> outer;
  for (int64_t k = 0; k < extreme.numel(); ++k) {
    const float largest = extreme.const_data_ptr<float>()[k];
    outer.push_back(largest > 0 ? std::max(largest / (p.levels.largest() * room), 0x1p-120f)
                                : 1.0f);
  }
  return outer;
}

/// The outer scales of rows, among some around those of the extremes, that leave the least errors.
std::vector<float> searched_outer(const std::vector<float>& start, const BlockFitter& fitter) {
  std::vector<float> best = start, tried(start.size());
  std::vector<double> least = fitter.error_b(start);
  for (int k = 1; k <= kRowScales; ++k) {
    for (std::size_t o = 0; o < start.size(); ++o)
      tried[o] = start[o] * (0.6f + 0.6f * static_cast<float>(k) / kRowScales);
    const std::vector<double> error = fitter.error_b(tried);
    for (std::size_t o = 0; o < start.size(); ++o) {
      if (!(error[o] < least[o])) continue;
      least[o] = error[o];
      best[o] = tried[o];
    }
  }
  return best;
}

}  // namespace

GridScales fit_scales(const format::GridLayout& layout, const Levels& levels, ScaleRule rule,
                      const at::Tensor& w_oi, const Metric& metric) {
  const GridProblem problem{layout, levels, rule, w_oi, metric};
  const std::unique_ptr<BlockFitter> fitter =
      fits_on_device(problem) ? device_fitter(problem) : std::make_unique<HostFitter>(problem);
  GridScales scales{.bits_bg = {}, .outer = outer_of_extremes(problem)};
  if (layout.spec().outer == OuterScale::row && rule != ScaleRule::minmax)
    scales.outer = searched_outer(scales.outer, *fitter);
  scales.bits_bg = fitter->bits_bg(scales.outer);
  return scales;
}

}  // namespace cupel::core
