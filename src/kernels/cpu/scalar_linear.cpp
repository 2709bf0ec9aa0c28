// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Linear layers by the letter of their definitions, the canonical sums of cpu.h.
#include <algorithm>
#include <cmath>
#include <vector>

#include "format/minifloat.h"
#include "kernels/cpu/levels.h"
#include "kernels/cpu/scalar_math.h"

namespace cupel::kernels::scalar {
namespace {

constexpr int kStripe = 16;
constexpr int kChunk = 32;
constexpr int64_t kSegment = 1024;

/// ORs one field of a chunk's codes into `codes` at bit `shift`; `lines` are the field's lines of
/// the whole stripe.
template <int width>
void unpack_field(const uint8_t* lines, int row, int shift, uint8_t* codes) {
  constexpr int kPerLine = kChunk / width, kMask = (1 << width) - 1;
  for (int line = 0; line < width; ++line)
    for (int s = 0; s < 8 / width; ++s)
      for (int b = 0; b < 4; ++b)
        codes[line * kPerLine + 4 * s + b] |= static_cast<uint8_t>(
            ((lines[line * 64 + row * 4 + b] >> (s * width)) & kMask) << shift);
}

/// The numbers of one row of a stripe, all chunks.
void unpack_row(const CodedMatrix& w, int64_t stripe, int row, int64_t chunks, uint8_t* codes) {
  std::fill_n(codes, chunks * kChunk, uint8_t{0});
  const uint8_t* lines = w.codes + stripe * chunks * w.bits * 64;
  for (int64_t c = 0; c < chunks; ++c, codes += kChunk, lines += w.bits * 64) {
    const uint8_t* field = lines;
    int shift = 0;
    for (int width = 8; width > 0; width /= 2) {
      if ((w.bits & width) == 0) continue;
      if (width == 8) unpack_field<8>(field, row, shift, codes);
      if (width == 4) unpack_field<4>(field, row, shift, codes);
      if (width == 2) unpack_field<2>(field, row, shift, codes);
      if (width == 1) unpack_field<1>(field, row, shift, codes);
      field += width * 64;
      shift += width;
    }
    if (w.table != nullptr)
      for (int i = 0; i < kChunk; ++i) codes[i] = w.table[codes[i]];
  }
}

/// The scale of a group of inputs of one row of a stripe; `at` counts groups of all stripes.
float scale_of(const CodedMatrix& w, int64_t at, int row) {
  using format::ScaleType;
  const auto* bytes = static_cast<const uint8_t*>(w.scales);
  if (w.scale_type == ScaleType::multiplier)
    return static_cast<float>((bytes[at * 8 + row % 8] >> (row < 8 ? 0 : 4)) & 15);
  if (w.scale_type == ScaleType::e8m0) return format::from_e8m0(bytes[at * kStripe + row]);
  if (w.scale_type == ScaleType::e4m3)
    return format::from_minifloat(format::MiniFloat::e4m3, bytes[at * kStripe + row]);
  return format::f16_to_f32(static_cast<const uint16_t*>(w.scales)[at * kStripe + row]);
}

int32_t product(const uint8_t* codes, const int8_t* x, int64_t n) {
  int32_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += codes[i] * x[i];
  return sum;
}

/// One output for row r of x; `numbers` are those of the output's row.
float dot(const CodedMatrix& w, const QuantizedInput& x, int64_t r, int64_t stripe, int row,
          const uint8_t* numbers) {
  const int64_t blocks = x.blocks(), groups = (w.cols + w.group - 1) / w.group;
  const int64_t segment = std::max(kSegment, w.group);
  float total = 0.0F, sum = 0.0F;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t begin = b * x.block, n = std::min<int64_t>(x.block, w.cols - begin);
    if (begin % segment == 0 && begin > 0) {
      total += sum;
      sum = 0.0F;
    }
    int32_t isum = product(numbers + begin, x.first + r * x.k_padded + begin, n);
    if (x.two_pass)
      isum = 254 * isum + product(numbers + begin, x.second + r * x.k_padded + begin, n);
    const int64_t at = stripe * groups + begin / w.group;
    const int32_t zero = w.zeros != nullptr ? w.zeros[at * kStripe + row] : w.zero;
    const float outer = w.outer_o != nullptr ? w.outer_o[stripe * kStripe + row] : 1.0F;
    const float scale = scale_of(w, at, row) * outer * (x.scales[r * blocks + b] * w.unit);
    sum = std::fma(scale, static_cast<float>(isum - zero * x.sums[r * blocks + b]), sum);
  }
  return total + sum;
}

/// Row o of a dense matrix as float32.
void read_row(const DenseMatrix& w, int64_t o, float* row) {
  const auto* halves = static_cast<const uint16_t*>(w.values) + o * w.cols;
  for (int64_t i = 0; i < w.cols; ++i) {
    switch (w.type) {
      case format::ElementType::f16:
        row[i] = format::f16_to_f32(halves[i]);
        break;
      case format::ElementType::bf16:
        row[i] = format::bf16_to_f32(halves[i]);
        break;
      default:
        row[i] = static_cast<const float*>(w.values)[o * w.cols + i];
    }
  }
}

float dot(const float* w, const float* x, int64_t n) {
  LaneSums sums;
  for (int64_t i = 0; i < n; ++i) sums.add_product(i, w[i], x[i]);
  return sums.total();
}

}  // namespace

void coded(const CodedMatrix& w, const QuantizedInput& x, float* y, int64_t ldy,
           int64_t stripe_begin, int64_t stripe_end) {
  std::vector<uint8_t> numbers(static_cast<std::size_t>(x.k_padded));
  for (int64_t o = stripe_begin * kStripe; o < std::min(stripe_end * kStripe, w.rows); ++o) {
    const int64_t stripe = o / kStripe;
    const int row = static_cast<int>(o % kStripe);
    unpack_row(w, stripe, row, x.k_padded / kChunk, numbers.data());
    for (int64_t r = 0; r < x.m; ++r) y[r * ldy + o] = dot(w, x, r, stripe, row, numbers.data());
  }
}

void dense(const DenseMatrix& w, const float* x, int64_t ldx, int64_t m, float* y, int64_t ldy,
           int64_t row_begin, int64_t row_end) {
  std::vector<float> row(static_cast<std::size_t>(w.cols));
  for (int64_t o = row_begin; o < row_end; ++o) {
    read_row(w, o, row.data());
    for (int64_t r = 0; r < m; ++r) y[r * ldy + o] = dot(row.data(), x + r * ldx, w.cols);
  }
}

}  // namespace cupel::kernels::scalar
