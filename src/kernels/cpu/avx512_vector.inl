// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The vector operations of AVX-512 (F, BW, VL, DQ) under the names of avx2_vector.inl.
#include <immintrin.h>

#include <cstdint>

namespace cupel::kernels {
namespace {

constexpr int kLanes = 16;
constexpr int kParts = 1;   // vectors of one 16-lane sum
using Vec = __m512;
using Ints = __m512i;   // 16 x int32

inline Vec zeros() { return _mm512_setzero_ps(); }
inline Vec splat(float x) { return _mm512_set1_ps(x); }
inline Ints splat_int(int32_t x) { return _mm512_set1_epi32(x); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
/// The second operand where one is NaN.
inline Vec larger(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec smaller(Vec a, Vec b) { return _mm512_min_ps(a, b); }

/// The first n lanes, n <= 16; none for n <= 0.
inline __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>(n <= 0 ? 0U : (1U << n) - 1U); }
inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
inline Vec load_first(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
inline void store(float* p, Vec a) { _mm512_storeu_ps(p, a); }
inline void store_first(float* p, Vec a, int64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), a); }
/// a in the first n lanes, b in the others.
inline Vec pick_first(Vec a, Vec b, int64_t n) { return _mm512_mask_blend_ps(first_lanes(n), b, a); }
/// a where x < y, else b.
inline Vec pick_smaller(Vec x, Vec y, Vec a, Vec b) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), b, a);
}

inline Ints load_ints(const void* p) { return _mm512_loadu_si512(p); }
inline void store_ints(void* p, Ints a) { _mm512_storeu_si512(p, a); }
/// Unsigned bytes to lanes.
inline Ints load_bytes(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Vec load_signs(const int8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
/// The low bytes of the lanes; they must fit int8.
inline void store_bytes(int8_t* p, Ints a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
}
inline Vec load_f16(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Vec load_bf16(const uint16_t* p) {
  const Ints wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
inline void store_f16(uint16_t* p, Vec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

inline Ints bits_of(Vec a) { return _mm512_castps_si512(a); }
inline Vec from_bits(Ints a) { return _mm512_castsi512_ps(a); }
inline Ints and_ints(Ints a, Ints b) { return _mm512_and_si512(a, b); }
inline Ints or_ints(Ints a, Ints b) { return _mm512_or_si512(a, b); }
inline Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
inline Ints sub_ints(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
inline Ints mul_ints(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }
inline Ints larger_ints(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
template <int n>
inline Ints shift_left(Ints a) { return _mm512_slli_epi32(a, n); }
template <int n>
inline Ints shift_right(Ints a) { return _mm512_srai_epi32(a, n); }
/// 16-bit lanes by n bits to the right, to the left for n < 0; zeros come in.
template <int n>
inline Ints shift_right16(Ints a) {
  if constexpr (n == 0) return a;
  if constexpr (n > 0) return _mm512_srli_epi16(a, n);
  if constexpr (n < 0) return _mm512_slli_epi16(a, -n);
}
/// To nearest, half to even.
inline Ints to_ints(Vec a) { return _mm512_cvtps_epi32(a); }
inline Vec to_floats(Ints a) { return _mm512_cvtepi32_ps(a); }

/// E4M3 as f16 of the same fields: 2^-8 times the numbers.
inline Vec load_e4m3(const uint8_t* p) {
  const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm512_cvtph_ps(_mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(static_cast<int16_t>(0xbfff))));
}

/// 2^(byte - 127).
inline Vec load_e8m0(const uint8_t* p) {
  // The smallest is denormal.
  return from_bits(larger_ints(shift_left<23>(load_bytes(p)), splat_int(0x00400000)));
}
/// Lanes of both halves from 8 bytes: low nibbles, then high ones. `half` is always 0 here.
template <int half>
inline Vec load_nibbles(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i both = _mm_unpacklo_epi64(bytes, _mm_srli_epi16(bytes, 4));
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_and_si128(both, _mm_set1_epi8(15))));
}

/// Tables of 16 bytes, one in each 128-bit lane, looked up by the low 4 bits of each byte below 128.
inline Ints splat_table(const uint8_t* p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Ints look_up(Ints table, Ints index) { return _mm512_shuffle_epi8(table, index); }
/// Bytes of `set` where bit `bit` of the index is 1, of `clear` elsewhere.
template <int bit>
inline Ints pick_by_bit(Ints index, Ints set, Ints clear) {
  return _mm512_mask_blend_epi8(_mm512_test_epi8_mask(index, _mm512_set1_epi8(1 << bit)), clear, set);
}

inline float first_lane(Vec a) { return _mm512_cvtss_f32(a); }
inline __m256 low_half(Vec a) { return _mm512_castps512_ps256(a); }
inline __m256 high_half(Vec a) { return _mm512_extractf32x8_ps(a, 1); }
/// The sum of 16 lanes in the canonical order (cpu.h).
inline float lane_sum(const Vec (&a)[kParts]) {
  const __m256 eight = _mm256_add_ps(low_half(a[0]), high_half(a[0]));
  const __m128 pairs = _mm_hadd_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 quads = _mm_hadd_ps(pairs, pairs);
  return _mm_cvtss_f32(_mm_add_ss(quads, _mm_movehdup_ps(quads)));
}
inline float lane_max(Vec a) {
  const __m256 eight = _mm256_max_ps(low_half(a), high_half(a));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
/// Sums in flight that lane_sums() takes.
constexpr int kScores = 8;
inline void lane_sums(const Vec (&a)[kScores][kParts], float* out) {
  __m256 b[kScores];
  for (int i = 0; i < kScores; ++i) b[i] = _mm256_add_ps(low_half(a[i][0]), high_half(a[i][0]));
  const __m256 low = _mm256_hadd_ps(_mm256_hadd_ps(b[0], b[1]), _mm256_hadd_ps(b[2], b[3]));
  const __m256 high = _mm256_hadd_ps(_mm256_hadd_ps(b[4], b[5]), _mm256_hadd_ps(b[6], b[7]));
  _mm256_storeu_ps(out, _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20),
                                      _mm256_permute2f128_ps(low, high, 0x31)));
}
inline int32_t lane_sum(Ints a) {
  const __m256i eight = _mm256_add_epi32(_mm512_castsi512_si256(a), _mm512_extracti32x8_epi32(a, 1));
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
inline int32_t lane_max(Ints a) {
  const __m256i eight = _mm256_max_epi32(_mm512_castsi512_si256(a), _mm512_extracti32x8_epi32(a, 1));
  const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
/// A sum of squares in float64, in the canonical order (cpu.h).
struct SquareSum {
  __m512d sums = _mm512_setzero_pd();
  void add(Vec a) {
    const __m512d low = _mm512_cvtps_pd(low_half(a)), high = _mm512_cvtps_pd(high_half(a));
    sums = _mm512_fmadd_pd(high, high, _mm512_fmadd_pd(low, low, sums));
  }
  double total() const {
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(sums), _mm512_extractf64x4_pd(sums, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
};
inline double square_root(double a) { return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(a))); }

/// Lane i becomes that of i ^ distance, for distance 1, 2, 4, 8.
template <int distance>
inline Vec swap_lanes(Vec a) {
  if constexpr (distance == 1) return _mm512_permute_ps(a, 0xb1);
  if constexpr (distance == 2) return _mm512_permute_ps(a, 0x4e);
  if constexpr (distance == 4) return _mm512_shuffle_f32x4(a, a, 0xb1);
  if constexpr (distance == 8) return _mm512_shuffle_f32x4(a, a, 0x4e);
}
/// a where lane & distance is 0, else b.
template <int distance>
inline Vec interleave(Vec a, Vec b) {
  constexpr int kMask = distance == 1 ? 0xaaaa : distance == 2 ? 0xcccc : distance == 4 ? 0xf0f0 : 0xff00;
  return _mm512_mask_blend_ps(static_cast<__mmask16>(kMask), a, b);
}

}  // namespace
}  // namespace cupel::kernels
