// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The forms of AVX2, which lacks a product of bytes that sums to 32 bits.
//   Words  x as int16 (two passes make at most 32385 in magnitude), codes widened: exact for 8 bits and any input.
//   Bytes  one pass: products of pairs of bytes in int16, `kWiden` quads added before they are widened; that many fit
//          without saturation: kWiden * 2 * 127 * (2^bits - 1) < 2^15.

namespace cupel::kernels {
namespace {

inline Ints splat_bytes(const void* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return _mm256_set1_epi32(four);
}

struct Words {
  static constexpr int kRows = 4;
  struct Buffer {
    int16_t values[kBufferInputs];
  };
  struct Rows {
    const int16_t* x;   ///< the first row's chunk 0, as if the buffer began there
    int64_t stride;
  };
  struct Sums {
    Ints half[2];
  };

  /// int16 values with the inner two of each quad swapped, because a word of codes splits into its bytes 0 and 2 and
  /// its bytes 1 and 3.
  static void prepare(const QuantizedInput& x, const Part& part, int64_t end, Buffer& buffer) {
    int16_t* out = buffer.values;
    for (int64_t r = part.row; r < end; ++r) {
      const int64_t at = r * x.k_padded;
      for (int64_t i = part.begin * kChunk; i < part.end * kChunk; i += 16, out += 16) {
        Ints v = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x.first + at + i)));
        if (x.two_pass) {
          const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x.second + at + i));
          v = _mm256_add_epi16(_mm256_mullo_epi16(v, _mm256_set1_epi16(254)), _mm256_cvtepi8_epi16(low));
        }
        v = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(v, 0xd8), 0xd8);
        _mm256_storeu_si256(reinterpret_cast<Ints*>(out), v);
      }
    }
  }
  static Rows rows(const QuantizedInput& /*x*/, const Buffer& buffer, const Part& part, int64_t batch_row) {
    const int64_t stride = (part.end - part.begin) * kChunk;
    return {buffer.values + (part.row - batch_row) * stride - part.begin * kChunk, stride};
  }

  template <int first, int last, class Reader, int rows>
  static __attribute__((always_inline)) void quads(const Reader& reader, Sums (&sums)[rows], const uint8_t* codes,
                                                   const Rows& x, int64_t chunk) {
    repeat<last - first>([&]<int step>() __attribute__((always_inline)) {
      constexpr int quad = first + step;
      const Line line = reader.template line<quad>(codes);
      Ints even[2], odd[2];
      repeat<2>([&]<int h>() __attribute__((always_inline)) {
        even[h] = and_ints(line.half[h], splat_int(0x00ff00ff));
        odd[h] = _mm256_srli_epi16(line.half[h], 8);
      });
      repeat<rows>([&]<int r>() __attribute__((always_inline)) {
        const int16_t* at = x.x + r * x.stride + chunk * kChunk + quad * 4;
        const Ints x_even = splat_bytes(at), x_odd = splat_bytes(at + 2);
        repeat<2>([&]<int h>() __attribute__((always_inline)) {
          sums[r].half[h] = add_ints_here(sums[r].half[h], _mm256_madd_epi16(even[h], x_even));
          sums[r].half[h] = add_ints_here(sums[r].half[h], _mm256_madd_epi16(odd[h], x_odd));
        });
      });
    });
  }
  template <int half>
  static Ints total(const Sums& sums) {
    return sums.half[half];
  }
};

template <int kWiden>
struct Bytes {
  static constexpr int kRows = 4;
  struct Buffer {};
  struct Rows {
    const int8_t* x;
    int64_t stride;
  };
  struct Sums {
    Ints half[2];
  };

  static void prepare(const QuantizedInput& /*x*/, const Part& /*part*/, int64_t /*end*/, Buffer& /*buffer*/) {}
  static Rows rows(const QuantizedInput& x, const Buffer& /*buffer*/, const Part& part, int64_t /*batch_row*/) {
    return {x.first + part.row * x.k_padded, x.k_padded};
  }

  template <int first, int last, class Reader, int rows>
  static __attribute__((always_inline)) void quads(const Reader& reader, Sums (&sums)[rows], const uint8_t* codes,
                                                   const Rows& x, int64_t chunk) {
    Ints pairs[rows][2];
    repeat<last - first>([&]<int step>() __attribute__((always_inline)) {
      constexpr int quad = first + step;
      const Line line = reader.template line<quad>(codes);
      repeat<rows>([&]<int r>() __attribute__((always_inline)) {
        const Ints in = splat_bytes(x.x + r * x.stride + chunk * kChunk + quad * 4);
        repeat<2>([&]<int h>() __attribute__((always_inline)) {
          const Ints product = _mm256_maddubs_epi16(line.half[h], in);
          pairs[r][h] = quad % kWiden == 0 ? product : _mm256_add_epi16(pairs[r][h], product);
          __asm__("" : "+x"(pairs[r][h]));
          if constexpr (quad % kWiden == kWiden - 1)
            sums[r].half[h] = add_ints_here(sums[r].half[h], _mm256_madd_epi16(pairs[r][h], _mm256_set1_epi16(1)));
        });
      });
    });
  }
  template <int half>
  static Ints total(const Sums& sums) {
    return sums.half[half];
  }
};

template <bool halves, class Reader>
void multiply_form(const Job& job) {
  constexpr int kBits = Reader::kBits;
  if constexpr (Reader::kBytes) {
    multiply<Words, halves, Reader>(job);
  } else if (job.x.two_pass) {
    multiply<Words, halves, Reader>(job);
  } else {
    multiply<Bytes<kBits <= 4 ? 8 : kBits == 5 ? 4 : kBits == 6 ? 2 : 1>, halves, Reader>(job);
  }
}

}  // namespace
}  // namespace cupel::kernels
