// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The form of AVX-512 VNNI: one instruction multiplies the 64 codes of a quad with 4 broadcast inputs and adds to int32,
// without saturation and for any code.

namespace cupel::kernels {
namespace {

inline Ints splat_bytes(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return _mm512_set1_epi32(four);
}

template <bool two_pass>
struct Dots {
  static constexpr int kRows = 8;   // 8 rows x 2 passes of sums leave registers for codes and inputs
  struct Buffer {};
  struct Row {
    const int8_t* first;
    const int8_t* second;
  };
  struct Sums {
    Ints first, second;
  };

  static void prepare(const QuantizedInput& /*x*/, const Part& /*part*/, int64_t /*end*/, Buffer& /*buffer*/) {}
  static Row row(const QuantizedInput& x, const Buffer& /*buffer*/, int64_t row, int64_t /*in_batch*/,
                 int64_t /*begin*/, int64_t /*end*/) {
    return {x.first + row * x.k_padded, two_pass ? x.second + row * x.k_padded : nullptr};
  }

  template <int bits, int rows>
  static __attribute__((always_inline)) void chunk(Sums (&sums)[rows], const uint8_t* codes, const Row (&x)[rows],
                                                   int64_t chunk) {
    // A single row would wait for the latency of its own sums: its odd quads go to sums of their own.
    Sums odd = {splat_int(0), splat_int(0)};
    repeat<8>([&]<int quad>() __attribute__((always_inline)) {
      const Ints line = codes_of<bits, quad>(codes).half[0];
      repeat<rows>([&]<int r>() __attribute__((always_inline)) {
        Sums& to = rows == 1 && quad % 2 == 1 ? odd : sums[r];
        const int64_t at = chunk * kChunk + quad * 4;
        to.first = _mm512_dpbusd_epi32(to.first, line, splat_bytes(x[r].first + at));
        if constexpr (two_pass) to.second = _mm512_dpbusd_epi32(to.second, line, splat_bytes(x[r].second + at));
      });
    });
    if constexpr (rows == 1) {
      sums[0].first = add_ints(sums[0].first, odd.first);
      sums[0].second = add_ints(sums[0].second, odd.second);
    }
  }
  template <int half>
  static Ints total(const Sums& sums) {
    if constexpr (!two_pass) return sums.first;
    return add_ints(mul_ints(sums.first, splat_int(254)), sums.second);
  }
};

template <int bits>
void multiply_form(const Job& job) {
  job.x.two_pass ? multiply<Dots<true>, bits>(job) : multiply<Dots<false>, bits>(job);
}

}  // namespace
}  // namespace cupel::kernels
