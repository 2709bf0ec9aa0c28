// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Plain matrices over Vec by the canonical sum of 16 lanes (cpu.h), kParts vectors for each output. The tile,
// kDenseOutputs x kDenseRows, comes from the level.

namespace cupel::kernels {
namespace {

/// `outputs` outputs for `rows` rows of x.
template <class Element, int outputs, int rows>
void dense_tile(const typename Element::Stored* w, int64_t cols, const float* x, int64_t ldx, float* y, int64_t ldy) {
  Vec sums[outputs][rows][kParts];
  for (auto& of_output : sums)
    for (auto& of_row : of_output)
      for (Vec& part : of_row) part = zeros();
  const auto step = [&](int part, auto weight, auto input) {
    Vec in[rows];
    for (int r = 0; r < rows; ++r) in[r] = input(x + r * ldx);
    for (int o = 0; o < outputs; ++o) {
      const Vec value = weight(w + o * cols);
      for (int r = 0; r < rows; ++r) sums[o][r][part] = fma(value, in[r], sums[o][r][part]);
    }
  };
  constexpr int kSumLanes = kParts * kLanes;
  const int64_t whole = cols - cols % kSumLanes;
  for (int64_t i = 0; i < whole; i += kSumLanes)
    for (int part = 0; part < kParts; ++part) {
      const int64_t at = i + part * kLanes;
      step(part, [at](auto* p) { return Element::load(p + at); }, [at](const float* p) { return load(p + at); });
    }
  for (int part = 0; part < kParts; ++part) {
    const int64_t at = whole + part * kLanes, rest = cols - at;
    if (rest <= 0) break;
    step(part, [=](auto* p) { return Element::load_first(p + at, rest); },
         [=](const float* p) { return load_first(p + at, rest); });
  }
  for (int o = 0; o < outputs; ++o)
    for (int r = 0; r < rows; ++r) y[r * ldy + o] = lane_sum(sums[o][r]);
}

template <class Element, int outputs>
void dense_rows(const typename Element::Stored* w, int64_t cols, const float* x, int64_t ldx, int64_t m, float* y,
                int64_t ldy) {
  int64_t r = 0;
  for (; r + kDenseRows <= m; r += kDenseRows)
    dense_tile<Element, outputs, kDenseRows>(w, cols, x + r * ldx, ldx, y + r * ldy, ldy);
  for (; r < m; ++r) dense_tile<Element, outputs, 1>(w, cols, x + r * ldx, ldx, y + r * ldy, ldy);
}

template <class Element>
void dense_of(const DenseMatrix& matrix, const float* x, int64_t ldx, int64_t m, float* y, int64_t ldy, int64_t begin,
              int64_t end) {
  const auto* w = static_cast<const typename Element::Stored*>(matrix.values);
  int64_t o = begin;
  for (; o + kDenseOutputs <= end; o += kDenseOutputs)
    dense_rows<Element, kDenseOutputs>(w + o * matrix.cols, matrix.cols, x, ldx, m, y + o, ldy);
  for (; o < end; ++o) dense_rows<Element, 1>(w + o * matrix.cols, matrix.cols, x, ldx, m, y + o, ldy);
}

void dense(const DenseMatrix& w, const float* x, int64_t ldx, int64_t m, float* y, int64_t ldy, int64_t row_begin,
           int64_t row_end) {
  switch (w.type) {
    case format::ElementType::f16: return dense_of<F16>(w, x, ldx, m, y, ldy, row_begin, row_end);
    case format::ElementType::bf16: return dense_of<BF16>(w, x, ldx, m, y, ldy, row_begin, row_end);
    default: return dense_of<F32>(w, x, ldx, m, y, ldy, row_begin, row_end);
  }
}

}  // namespace
}  // namespace cupel::kernels
