// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/codes/levels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/vector_clones.h"

namespace cupel::core {
namespace {

constexpr int kCountedLevels = 32;  // more are searched by halves
constexpr int64_t kLanes = 16;
constexpr std::size_t kPiece = 256;

/// Index of the nearest level for each t: thresholds below it are counted.
CUPEL_VECTOR_CLONES
void count_thresholds(const float* t, int64_t n, const float* thresholds, int count, int32_t* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = 0;
  for (int k = 0; k < count; ++k) {
    const float limit = thresholds[k];
    for (int64_t i = 0; i < n; ++i) out[i] += t[i] > limit ? 1 : 0;
  }
}

CUPEL_VECTOR_CLONES
void errors_of(const float* w, const float* weight, const float* level, float step, int64_t n,
               float* error) {
  for (int64_t i = 0; i < n; ++i) {
    const float e = w[i] - step * level[i];
    error[i] = weight[i] * (e * e);
  }
}

CUPEL_VECTOR_CLONES
void products_of(const float* w, const float* weight, const float* level, int64_t n, float* square,
                 float* product) {
  for (int64_t i = 0; i < n; ++i) {
    square[i] = weight[i] * (level[i] * level[i]);
    product[i] = weight[i] * (level[i] * w[i]);
  }
}

/// Number i goes to lane i % kLanes, whatever the vector width.
CUPEL_VECTOR_CLONES
double sum(const float* values, int64_t n) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(values[i + l]);
  for (int64_t l = 0; i < n; ++i, ++l) lanes[l] += static_cast<double>(values[i]);
  double total = 0;
  for (const double lane : lanes) total += lane;
  return total;
}

/// Calls use(offset, n, levels) for pieces of w, with the levels that they are rounded to.
template <class Use>
void for_pieces(const Levels& levels, float sign, float step, std::span<const float> w, Use&& use) {
  const float inverse = step > 0 ? sign / step : 0.0f;
  float t[kPiece], level[kPiece];
  int32_t index[kPiece];
  for (std::size_t at = 0; at < w.size(); at += kPiece) {
    const std::size_t n = std::min(kPiece, w.size() - at);
    for (std::size_t i = 0; i < n; ++i) t[i] = w[at + i] * inverse;
    if (levels.count() <= kCountedLevels)
      count_thresholds(t, static_cast<int64_t>(n), levels.thresholds(), levels.count() - 1, index);
    else
      for (std::size_t i = 0; i < n; ++i) index[i] = levels.nearest(t[i]);
    for (std::size_t i = 0; i < n; ++i) level[i] = sign * levels.values()[index[i]];
    use(at, static_cast<int64_t>(n), level);
  }
}

}  // namespace

Levels::Levels(std::span<const float> levels) {
  std::vector<std::size_t> order;
  for (std::size_t code = 0; code < levels.size(); ++code)
    if (!std::isnan(levels[code])) order.push_back(code);
  CUPEL_ASSERT(!order.empty());
  std::ranges::stable_sort(order, [&](auto a, auto b) { return levels[a] < levels[b]; });
  for (const std::size_t code : order) {
    if (!values_.empty() && levels[code] == values_.back()) continue;  // the second zero of a float
    values_.push_back(levels[code]);
    codes_.push_back(static_cast<uint8_t>(code));
  }
  for (std::size_t k = 0; k + 1 < values_.size(); ++k) {
    const float middle = 0.5f * (values_[k] + values_[k + 1]);
    const bool below_even = codes_[k] % 2 == 0, above_even = codes_[k + 1] % 2 == 0;
    const bool tie_goes_up =
        below_even == above_even ? std::fabs(values_[k + 1]) < std::fabs(values_[k]) : above_even;
    // t > threshold goes up: for ties to do so, the threshold is the next number below the middle.
    thresholds_.push_back(
        tie_goes_up ? std::nextafter(middle, -std::numeric_limits<float>::infinity()) : middle);
  }
  for (const float v : values_) largest_ = std::max(largest_, std::fabs(v));
  for (const float v : values_)
    if (std::fabs(v) < largest_) second_largest_ = std::max(second_largest_, std::fabs(v));
}

int Levels::nearest(float t) const {
  if (count() <= kCountedLevels) {
    int index = 0;
    for (const float limit : thresholds_) index += t > limit ? 1 : 0;
    return index;
  }
  return static_cast<int>(std::lower_bound(thresholds_.begin(), thresholds_.end(), t) -
                          thresholds_.begin());
}

double grid_error(const Levels& levels, float sign, float step, std::span<const float> w,
                  const float* weight) {
  double total = 0;
  for_pieces(levels, sign, step, w, [&](std::size_t at, int64_t n, const float* level) {
    float error[kPiece];
    errors_of(w.data() + at, weight + at, level, step, n, error);
    total += sum(error, n);
  });
  return total;
}

LevelProducts level_products(const Levels& levels, float sign, float step, std::span<const float> w,
                             const float* weight) {
  LevelProducts out;
  for_pieces(levels, sign, step, w, [&](std::size_t at, int64_t n, const float* level) {
    float square[kPiece], product[kPiece];
    products_of(w.data() + at, weight + at, level, n, square, product);
    out.weighted_level_square += sum(square, n);
    out.weighted_product += sum(product, n);
  });
  return out;
}

}  // namespace cupel::core
