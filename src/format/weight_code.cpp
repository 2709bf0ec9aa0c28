// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/weight_code.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "format/hadamard.h"

namespace cupel::format {

namespace {

void check_fits(const InputTransform& t, int64_t width) {
  const auto size = static_cast<std::size_t>(width);
  CUPEL_CHECK(t.scale.empty() || t.scale.size() == size, data, "transform '", t.id, "' has ",
              t.scale.size(), " scales for ", width, " inputs");
  CUPEL_CHECK(t.signs.empty() || t.signs.size() == size, data, "transform '", t.id, "' has ",
              t.signs.size(), " signs for ", width, " inputs");
  CUPEL_CHECK(t.hadamard == 0 || (hadamard_order(t.hadamard) && width % t.hadamard == 0), data,
              "transform '", t.id,
              "': a Hadamard block must be the order of a matrix that we know and divide ", width,
              " inputs, not ", t.hadamard);
}

/// Walsh-Hadamard transform in natural (Sylvester) order, butterflies of distance 1, 2, 4, ...
void butterflies(float* p, int64_t n) {
  for (int64_t half = 1; half < n; half *= 2)
    for (int64_t i = 0; i < n; i += 2 * half)
      for (int64_t j = i; j < i + half; ++j) {
        const float a = p[j], b = p[j + half];
        p[j] = a + b;
        p[j + half] = a - b;
      }
}

enum class Side { forward, transposed };

/// Numbers [factor, power] times the factor's matrix F, or its transpose: terms in order, from 0.
void multiply_factor(float* p, const HadamardOrder& order, Side side) {
  const std::span<const int8_t> f = hadamard_factor(order.factor);
  const int64_t n = order.factor, power = order.power;
  const std::vector<float> in(p, p + n * power);
  std::fill_n(p, n * power, 0.0f);
  for (int64_t a = 0; a < n; ++a)
    for (int64_t b = 0; b < n; ++b) {
      // A product with 1 or -1 is exact: each term is rounded once, when it is added.
      const auto sign = static_cast<float>(side == Side::forward ? f[a * n + b] : f[b * n + a]);
      for (int64_t j = 0; j < power; ++j) p[a * power + j] += sign * in[b * power + j];
    }
}

void hadamard_blocks(float* row, int64_t width, int64_t block, Side side) {
  const HadamardOrder order = *hadamard_order(block);
  const float norm = static_cast<float>(1.0 / std::sqrt(static_cast<double>(block)));
  for (float* p = row; p < row + width; p += block) {
    for (int64_t a = 0; a < order.factor; ++a) butterflies(p + a * order.power, order.power);
    if (order.factor > 1) multiply_factor(p, order, side);
    for (int64_t j = 0; j < block; ++j) p[j] *= norm;
  }
}

void multiply(float* row, int64_t width, const std::vector<float>& scale) {
  if (scale.empty()) return;
  for (int64_t i = 0; i < width; ++i) row[i] *= scale[static_cast<std::size_t>(i)];
}

void flip(float* row, int64_t width, const std::vector<int8_t>& signs) {
  if (signs.empty()) return;
  for (int64_t i = 0; i < width; ++i)
    if (signs[static_cast<std::size_t>(i)] < 0) row[i] = -row[i];
}

void rotate_back(const InputTransform& transform, float* row, int64_t width) {
  if (transform.hadamard != 0) hadamard_blocks(row, width, transform.hadamard, Side::transposed);
  flip(row, width, transform.signs);
}

}  // namespace

void apply(const InputTransform& transform, float* x, int64_t n, int64_t width) {
  if (transform.identity()) return;
  check_fits(transform, width);
  for (float* row = x; row < x + n * width; row += width) {
    multiply(row, width, transform.scale);
    flip(row, width, transform.signs);
    if (transform.hadamard != 0) hadamard_blocks(row, width, transform.hadamard, Side::forward);
  }
}

void undo(const InputTransform& transform, float* x, int64_t n, int64_t width) {
  if (transform.identity()) return;
  check_fits(transform, width);
  for (float* row = x; row < x + n * width; row += width) {
    rotate_back(transform, row, width);
    for (std::size_t i = 0; i < transform.scale.size(); ++i) row[i] /= transform.scale[i];
  }
}

// T = H S D with S and D diagonal: a row of W' T is H^T, then S, then D applied to the row of W'.
void undo_on_weight(const InputTransform& transform, float* w, int64_t n, int64_t width) {
  if (transform.identity()) return;
  check_fits(transform, width);
  for (float* row = w; row < w + n * width; row += width) {
    rotate_back(transform, row, width);
    multiply(row, width, transform.scale);
  }
}

}  // namespace cupel::format
