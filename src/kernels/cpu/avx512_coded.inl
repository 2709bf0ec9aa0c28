// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The form of AVX-512 VNNI: one instruction multiplies the 64 codes of a quad with 4 broadcast inputs and adds to
// int32, without saturation and for any code.

namespace cupel::kernels {
namespace {

inline Ints splat_bytes(uintptr_t address) {
  int32_t four;
  __builtin_memcpy(&four, reinterpret_cast<const void*>(address), sizeof four);
  return _mm512_set1_epi32(four);
}

template <bool two_pass>
struct Dots {
  static constexpr int kRows = 8;   // 8 rows x 2 passes of sums leave registers for codes and inputs
  struct Buffer {};
  struct Rows {
    const int8_t* first;
    int64_t stride;
    uintptr_t to_second;   ///< bytes from the first pass to the second: one offset for all rows spares registers
  };
  struct Sums {
    Ints first, second;
  };

  static void prepare(const QuantizedInput& /*x*/, const Part& /*part*/, int64_t /*end*/, Buffer& /*buffer*/) {}
  static Rows rows(const QuantizedInput& x, const Buffer& /*buffer*/, const Part& part, int64_t /*batch_row*/) {
    return {x.first + part.row * x.k_padded, x.k_padded,
            reinterpret_cast<uintptr_t>(x.second) - reinterpret_cast<uintptr_t>(x.first)};
  }

  template <int first, int last, class Reader, int rows>
  static __attribute__((always_inline)) void quads(const Reader& reader, Sums (&sums)[rows], const uint8_t* codes,
                                                   const Rows& x, int64_t chunk) {
    // A single row would wait for the latency of its own sums: its odd quads go to sums of their own.
    Sums odd = {splat_int(0), splat_int(0)};
    repeat<last - first>([&]<int step>() __attribute__((always_inline)) {
      constexpr int quad = first + step;
      const Ints line = reader.template line<quad>(codes).half[0];
      repeat<rows>([&]<int r>() __attribute__((always_inline)) {
        Sums& to = rows == 1 && quad % 2 == 1 ? odd : sums[r];
        const auto at = reinterpret_cast<uintptr_t>(x.first + r * x.stride + chunk * kChunk + quad * 4);
        to.first = _mm512_dpbusd_epi32(to.first, line, splat_bytes(at));
        if constexpr (two_pass) to.second = _mm512_dpbusd_epi32(to.second, line, splat_bytes(at + x.to_second));
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

template <bool halves, class Reader>
void multiply_form(const Job& job) {
  job.x.two_pass ? multiply<Dots<true>, halves, Reader>(job) : multiply<Dots<false>, halves, Reader>(job);
}

}  // namespace
}  // namespace cupel::kernels
