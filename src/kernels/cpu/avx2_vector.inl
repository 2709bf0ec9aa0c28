// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The vector operations of AVX2 under the names that the shared kernel bodies (*.inl) use. Arithmetic on Vec is that of
// the compiler's vector types: + - * / round once each, nothing is contracted.
#include <immintrin.h>

#include <cstdint>

namespace cupel::kernels {
namespace {

constexpr int kLanes = 8;
constexpr int kParts = 2;   // vectors of one 16-lane sum
using Vec = __m256;
using Ints = __m256i;   // 8 x int32

inline Vec zeros() { return _mm256_setzero_ps(); }
inline Vec splat(float x) { return _mm256_set1_ps(x); }
inline Ints splat_int(int32_t x) { return _mm256_set1_epi32(x); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
/// The second operand where one is NaN.
inline Vec larger(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec smaller(Vec a, Vec b) { return _mm256_min_ps(a, b); }

/// All ones in the first n lanes, none for n <= 0.
inline Ints first_lanes(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
inline Vec load_first(const float* p, int64_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
inline void store(float* p, Vec a) { _mm256_storeu_ps(p, a); }
inline void store_first(float* p, Vec a, int64_t n) { _mm256_maskstore_ps(p, first_lanes(n), a); }
/// a in the first n lanes, b in the others.
inline Vec pick_first(Vec a, Vec b, int64_t n) { return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(first_lanes(n))); }
/// a where x < y, else b.
inline Vec pick_smaller(Vec x, Vec y, Vec a, Vec b) {
  return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_LT_OQ));
}

inline Vec load_f16(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Vec load_bf16(const uint16_t* p) {
  const Ints wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
inline void store_f16(uint16_t* p, Vec a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

inline Ints bits_of(Vec a) { return _mm256_castps_si256(a); }
inline Vec from_bits(Ints a) { return _mm256_castsi256_ps(a); }
inline Ints and_ints(Ints a, Ints b) { return _mm256_and_si256(a, b); }
inline Ints add_ints(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
/// a + b at this place of the program: GCC would gather the additions of a long sum behind all of its terms and run out
/// of registers.
inline Ints add_ints_here(Ints a, Ints b) {
  a = add_ints(a, b);
  __asm__("" : "+x"(a));
  return a;
}
inline Ints or_ints(Ints a, Ints b) { return _mm256_or_si256(a, b); }
inline Ints sub_ints(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
inline Ints mul_ints(Ints a, Ints b) { return _mm256_mullo_epi32(a, b); }
inline Ints larger_ints(Ints a, Ints b) { return _mm256_max_epi32(a, b); }
template <int n>
inline Ints shift_left(Ints a) { return _mm256_slli_epi32(a, n); }
/// 16-bit lanes by n bits to the right, to the left for n < 0; zeros come in.
template <int n>
inline Ints shift_right16(Ints a) {
  if constexpr (n == 0) return a;
  if constexpr (n > 0) return _mm256_srli_epi16(a, n);
  if constexpr (n < 0) return _mm256_slli_epi16(a, -n);
}
template <int n>
inline Ints shift_right(Ints a) { return _mm256_srai_epi32(a, n); }
inline Ints load_ints(const void* p) { return _mm256_loadu_si256(static_cast<const Ints*>(p)); }
inline void store_ints(void* p, Ints a) { _mm256_storeu_si256(static_cast<Ints*>(p), a); }
/// Unsigned bytes to lanes.
inline Ints load_bytes(const uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
/// To nearest, half to even.
inline Ints to_ints(Vec a) { return _mm256_cvtps_epi32(a); }
inline Vec to_floats(Ints a) { return _mm256_cvtepi32_ps(a); }
/// The low bytes of the lanes; they must fit int8.
inline void store_bytes(int8_t* p, Ints a) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
}
inline Vec load_signs(const int8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

/// E4M3 as f16 of the same fields: 2^-8 times the numbers.
inline Vec load_e4m3(const uint8_t* p) {
  const __m128i wide = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  return _mm256_cvtph_ps(_mm_and_si128(_mm_slli_epi16(wide, 7), _mm_set1_epi16(static_cast<int16_t>(0xbfff))));
}

/// 2^(byte - 127).
inline Vec load_e8m0(const uint8_t* p) {
  // The smallest is denormal.
  return from_bits(larger_ints(shift_left<23>(load_bytes(p)), splat_int(0x00400000)));
}
/// Lanes of one half from 8 bytes: of half 0 the low nibbles, of half 1 the high ones.
template <int half>
inline Vec load_nibbles(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i own = half == 0 ? bytes : _mm_srli_epi16(bytes, 4);
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_and_si128(own, _mm_set1_epi8(15))));
}

/// Tables of 16 bytes, one in each 128-bit lane, looked up by the low 4 bits of each byte below 128.
inline Ints splat_table(const uint8_t* p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Ints look_up(Ints table, Ints index) { return _mm256_shuffle_epi8(table, index); }
/// Bytes of `set` where bit `bit` of the index is 1, of `clear` elsewhere.
template <int bit>
inline Ints pick_by_bit(Ints index, Ints set, Ints clear) {
  return _mm256_blendv_epi8(clear, set, _mm256_slli_epi16(index, 7 - bit));
}

inline float first_lane(Vec a) { return _mm256_cvtss_f32(a); }
/// The sum of 16 lanes in the canonical order (cpu.h).
inline float lane_sum(const Vec (&a)[kParts]) {
  const Vec eight = a[0] + a[1];
  const __m128 pairs = _mm_hadd_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 quads = _mm_hadd_ps(pairs, pairs);
  return _mm_cvtss_f32(_mm_add_ss(quads, _mm_movehdup_ps(quads)));
}
/// Sums in flight that lane_sums() takes.
constexpr int kScores = 4;
inline void lane_sums(const Vec (&a)[kScores][kParts], float* out) {
  const Vec low = _mm256_hadd_ps(a[0][0] + a[0][1], a[1][0] + a[1][1]);
  const Vec high = _mm256_hadd_ps(a[2][0] + a[2][1], a[3][0] + a[3][1]);
  const Vec quads = _mm256_hadd_ps(low, high);
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(quads), _mm256_extractf128_ps(quads, 1)));
}
inline float lane_max(Vec a) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
inline int32_t lane_sum(Ints a) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
inline int32_t lane_max(Ints a) {
  const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
/// A sum of squares in float64, in the canonical order (cpu.h).
struct SquareSum {
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
  void add(Vec a) {
    const __m256d l = _mm256_cvtps_pd(_mm256_castps256_ps128(a));
    const __m256d h = _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
    low = _mm256_fmadd_pd(l, l, low);
    high = _mm256_fmadd_pd(h, h, high);
  }
  double total() const {
    const __m256d four = _mm256_add_pd(low, high);
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
};
inline double square_root(double a) { return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(a))); }

/// Lane i becomes that of i ^ distance, for distance 1, 2, 4.
template <int distance>
inline Vec swap_lanes(Vec a) {
  if constexpr (distance == 1) return _mm256_permute_ps(a, 0xb1);
  if constexpr (distance == 2) return _mm256_permute_ps(a, 0x4e);
  if constexpr (distance == 4) return _mm256_permute2f128_ps(a, a, 1);
}
/// a where lane & distance is 0, else b.
template <int distance>
inline Vec interleave(Vec a, Vec b) {
  constexpr int kMask = distance == 1 ? 0xaa : distance == 2 ? 0xcc : 0xf0;
  return _mm256_blend_ps(a, b, kMask);
}

}  // namespace
}  // namespace cupel::kernels
