// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/codes/table_code.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/codes/levels.h"
#include "core/parallel.h"
#include "core/tensor_util.h"

namespace cupel::core {
namespace {

using format::ElementType;

/// Weighted sums over prefixes of sorted numbers: the cost of a cluster in constant time.
struct Prefix {
  std::vector<double> h, hw, hww;
  double cost(int64_t from, int64_t to) const {  // numbers [from, to)
    const double mass = h[to] - h[from], first = hw[to] - hw[from];
    return mass > 0 ? std::max(0.0, hww[to] - hww[from] - first * first / mass) : 0.0;
  }
  double mean(int64_t from, int64_t to) const {
    const double mass = h[to] - h[from];
    return mass > 0 ? (hw[to] - hw[from]) / mass : 0.0;
  }
};

/// One layer of the dynamic programme by halves: the best first number of the last cluster grows
/// with the number of numbers.
void solve(const Prefix& prefix, const std::vector<double>& before, std::vector<double>& now,
           std::vector<int32_t>& from, int64_t low, int64_t high, int64_t first, int64_t last) {
  if (low > high) return;
  const int64_t middle = (low + high) / 2;
  double least = std::numeric_limits<double>::infinity();
  int64_t best = first;
  for (int64_t j = first; j <= std::min(last, middle); ++j) {
    const double cost = before[static_cast<std::size_t>(j)] + prefix.cost(j, middle);
    if (cost < least) {
      least = cost;
      best = j;
    }
  }
  now[static_cast<std::size_t>(middle)] = least;
  from[static_cast<std::size_t>(middle)] = static_cast<int32_t>(best);
  solve(prefix, before, now, from, low, middle - 1, first, best);
  solve(prefix, before, now, from, middle + 1, high, best, last);
}

class TableEncoding : public Encoding {
 public:
  TableEncoding(std::shared_ptr<const format::RowTableLayout> layout, int64_t rows, int64_t cols)
      : layout_(std::move(layout)),
        rows_(rows),
        cols_(cols),
        size_(int64_t{1} << layout_->spec().bits),
        codes_(static_cast<std::size_t>(rows * cols)),
        tables_(static_cast<std::size_t>(rows * size_)),
        levels_(static_cast<std::size_t>(rows), Levels(std::vector<float>{0.0f})) {}

  void set(int64_t row, std::vector<float> centres) {
    // Float16 as it is stored; a code too many repeats the last level.
    constexpr float kLargest = 65504.0f;
    for (float& c : centres)
      c = format::f16_to_f32(format::f32_to_f16(std::clamp(c, -kLargest, kLargest)));
    std::ranges::sort(centres);
    centres.resize(static_cast<std::size_t>(size_), centres.back());
    for (int64_t k = 0; k < size_; ++k)
      tables_[static_cast<std::size_t>(row * size_ + k)] =
          format::f32_to_f16(centres[static_cast<std::size_t>(k)]);
    levels_[static_cast<std::size_t>(row)] = Levels(centres);
  }

  void encode(const TileColumn& t) override {
    for (int64_t c = 0; c < t.cols; ++c)
      for (int64_t r = 0; r < t.rows; ++r) {
        const Levels& levels = levels_[static_cast<std::size_t>(t.row + r)];
        const int k = levels.nearest(t.target[c * t.stride + r]);
        t.value[c * t.stride + r] = levels.values()[k];
        codes_[static_cast<std::size_t>((t.row + r) * cols_ + t.col + c)] = levels.code(k);
      }
  }

  format::WeightCode finish() override {
    format::WeightCode code{.layout = layout_, .rows = rows_, .cols = cols_};
    code.arrays["codes"] = format::Array::of<uint8_t>(ElementType::u8, {rows_, cols_}, codes_);
    code.arrays["tables"] = format::Array::of<uint16_t>(ElementType::f16, {rows_, size_}, tables_);
    return code;
  }

 private:
  std::shared_ptr<const format::RowTableLayout> layout_;
  int64_t rows_, cols_, size_;
  std::vector<uint8_t> codes_;
  std::vector<uint16_t> tables_;
  std::vector<Levels> levels_;
};

}  // namespace

std::vector<float> weighted_k_means(const float* values, const float* weights, int64_t n, int k) {
  std::vector<int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::sort(order, [&](int64_t a, int64_t b) {
    return values[a] != values[b] ? values[a] < values[b] : a < b;
  });
  const std::size_t size = order.size() + 1;
  Prefix prefix{std::vector<double>(size), std::vector<double>(size), std::vector<double>(size)};
  double mass = 0;
  for (int64_t i = 0; i < n; ++i) mass += weights[i];
  for (std::size_t i = 0; i < order.size(); ++i) {
    // Weights of zero say nothing about where a level should be; they must not vanish altogether.
    const double h = weights[order[i]] + 1e-12 * (mass > 0 ? mass / static_cast<double>(n) : 1.0);
    const double v = values[order[i]];
    prefix.h[i + 1] = prefix.h[i] + h;
    prefix.hw[i + 1] = prefix.hw[i] + h * v;
    prefix.hww[i + 1] = prefix.hww[i] + h * v * v;
  }
  std::vector<double> before(size), now(size);
  for (int64_t i = 0; i <= n; ++i) before[static_cast<std::size_t>(i)] = prefix.cost(0, i);
  std::vector<std::vector<int32_t>> from(static_cast<std::size_t>(k), std::vector<int32_t>(size));
  for (int c = 1; c < k; ++c) {
    solve(prefix, before, now, from[static_cast<std::size_t>(c)], 0, n, 0, n);
    std::swap(before, now);
  }
  std::vector<float> centres;
  int64_t end = n;
  for (int c = k - 1; c >= 0 && end > 0; --c) {
    const int64_t begin =
        c == 0 ? 0 : from[static_cast<std::size_t>(c)][static_cast<std::size_t>(end)];
    if (begin < end) centres.push_back(static_cast<float>(prefix.mean(begin, end)));
    end = begin;
  }
  std::ranges::reverse(centres);
  return centres;
}

std::unique_ptr<Encoding> TableCode::fit(const at::Tensor& w_oi, const Metric& metric) const {
  const at::Tensor host_oi = host_float(w_oi);
  const int64_t rows = host_oi.size(0), cols = host_oi.size(1);
  const float* w = host_oi.const_data_ptr<float>();
  const std::vector<float> ones(static_cast<std::size_t>(cols), 1.0f);
  auto encoding = std::make_unique<TableEncoding>(layout_, rows, cols);
  parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o)
      encoding->set(
          o, weighted_k_means(w + o * cols, metric.row(o, ones), cols, 1 << layout_->spec().bits));
  });
  return encoding;
}

}  // namespace cupel::core
