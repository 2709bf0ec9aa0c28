// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Activation blocks over Vec, operation by operation as scalar_quantize.cpp defines them.

namespace cupel::kernels {
namespace {

/// The bits of the largest magnitude of n numbers; NaN and infinity order above the finite numbers.
inline int32_t largest_magnitude_bits(const float* x, int64_t n) {
  const Ints mask = splat_int(0x7fffffff);
  Ints largest = splat_int(0);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) largest = larger_ints(largest, and_ints(bits_of(load(x + i)), mask));
  if (i < n) largest = larger_ints(largest, and_ints(bits_of(load_first(x + i, n - i)), mask));
  return lane_max(largest);
}

inline void fill_zero(int8_t* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = 0;
}

/// Writes whole vectors: up to kLanes - 1 zeros past n, which are padding.
template <bool two_pass>
int32_t quantize_values(const float* x, int64_t n, float inverse, int8_t* first, int8_t* second) {
  Ints sum = splat_int(0);
  for (int64_t i = 0; i < n; i += kLanes) {
    const Vec in = i + kLanes <= n ? load(x + i) : load_first(x + i, n - i);
    const Ints v = to_ints(in * splat(inverse));
    sum = add_ints(sum, v);
    if constexpr (two_pass) {
      const Ints q1 = to_ints(to_floats(v) * splat(kPassRatio));
      store_bytes(first + i, q1);
      store_bytes(second + i, sub_ints(v, mul_ints(q1, splat_int(254))));
    } else {
      store_bytes(first + i, v);
    }
  }
  return lane_sum(sum);
}

template <bool two_pass>
void quantize_block(const float* x, int64_t n, int64_t padded, int8_t* first, int8_t* second, float* scale,
                    int32_t* sum) {
  const int32_t bits = largest_magnitude_bits(x, n);
  float amax;
  __builtin_memcpy(&amax, &bits, sizeof amax);
  const bool tiny = amax < kTinyBlock;
  if (tiny || bits >= 0x7f800000) {
    *scale = tiny ? 0.0F : __builtin_nanf("");
    *sum = 0;
    fill_zero(first, padded);
    if constexpr (two_pass) fill_zero(second, padded);
    return;
  }
  *scale = two_pass ? amax / 127.0F / 254.0F : amax / 127.0F;
  *sum = quantize_values<two_pass>(x, n, (two_pass ? kTwoPassRange : 127.0F) / amax, first, second);
  const int64_t written = (n + kLanes - 1) / kLanes * kLanes;
  fill_zero(first + written, padded - written);
  if constexpr (two_pass) fill_zero(second + written, padded - written);
}

template <bool two_pass>
void quantize_rows(const float* x, int64_t ldx, const QuantizedInput& out) {
  const int64_t blocks = (out.k + out.block - 1) / out.block;
  auto* first = const_cast<int8_t*>(out.first);
  auto* second = const_cast<int8_t*>(out.second);
  auto* scales = const_cast<float*>(out.scales);
  auto* sums = const_cast<int32_t*>(out.sums);
  for (int64_t r = 0; r < out.m; ++r) {
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t begin = b * out.block, at = r * out.k_padded + begin;
      const int64_t left = out.k - begin, left_padded = out.k_padded - begin;
      quantize_block<two_pass>(x + r * ldx + begin, left < out.block ? left : out.block,
                               b + 1 == blocks ? left_padded : out.block, first + at,
                               two_pass ? second + at : nullptr, scales + r * blocks + b, sums + r * blocks + b);
    }
  }
}

void quantize(const float* x, int64_t ldx, const QuantizedInput& out) {
  out.two_pass ? quantize_rows<true>(x, ldx, out) : quantize_rows<false>(x, ldx, out);
}

}  // namespace
}  // namespace cupel::kernels
