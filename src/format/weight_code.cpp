// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/weight_code.h"

#include <bit>
#include <cmath>

#include "base/error.h"

namespace cupel::format {

namespace {

void check_fits(const InputTransform& t, int64_t width) {
  const auto size = static_cast<std::size_t>(width);
  CUPEL_CHECK(t.scale.empty() || t.scale.size() == size, data, "transform '", t.id, "' has ",
              t.scale.size(), " scales for ", width, " inputs");
  CUPEL_CHECK(t.signs.empty() || t.signs.size() == size, data, "transform '", t.id, "' has ",
              t.signs.size(), " signs for ", width, " inputs");
  if (t.hadamard == 0) return;
  CUPEL_CHECK(t.hadamard > 0 && std::has_single_bit(static_cast<unsigned>(t.hadamard)) &&
                  width % t.hadamard == 0,
              data, "transform '", t.id, "': a Hadamard block must be a power of two that divides ",
              width, " inputs, not ", t.hadamard);
}

/// Walsh-Hadamard transform of each `block` of `row`, natural (Sylvester) order, orthonormal: it is
/// its own inverse and its own transpose. Butterflies of distance 1, 2, 4, ... first, then one
/// multiplication.
void hadamard_blocks(float* row, int64_t width, int64_t block) {
  const float norm = static_cast<float>(1.0 / std::sqrt(static_cast<double>(block)));
  for (float* p = row; p < row + width; p += block) {
    for (int64_t half = 1; half < block; half *= 2)
      for (int64_t i = 0; i < block; i += 2 * half)
        for (int64_t j = i; j < i + half; ++j) {
          const float a = p[j], b = p[j + half];
          p[j] = a + b;
          p[j + half] = a - b;
        }
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

}  // namespace

void apply(const InputTransform& transform, float* x, int64_t n, int64_t width) {
  if (transform.identity()) return;
  check_fits(transform, width);
  for (float* row = x; row < x + n * width; row += width) {
    multiply(row, width, transform.scale);
    flip(row, width, transform.signs);
    if (transform.hadamard != 0) hadamard_blocks(row, width, transform.hadamard);
  }
}

// T = H S D with H symmetric, S and D diagonal: a row w of W' T is H, then S, then D applied to the
// row of W'.
void undo_on_weight(const InputTransform& transform, float* w, int64_t n, int64_t width) {
  if (transform.identity()) return;
  check_fits(transform, width);
  for (float* row = w; row < w + n * width; row += width) {
    if (transform.hadamard != 0) hadamard_blocks(row, width, transform.hadamard);
    flip(row, width, transform.signs);
    multiply(row, width, transform.scale);
  }
}

}  // namespace cupel::format
