// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// e^x within 1 ulp for every float32, subnormal results included; infinity above 88.73, NaN stays NaN.
// x = n ln 2 + r with |r| <= ln 2 / 2, the Taylor series of e^r to r^7 (remainder 5e-9), then a multiplication by 2^n
// in two steps, so that neither leaves the range of exponents.

namespace cupel::kernels {
namespace {

inline Vec power_of_two(Ints n) { return from_bits(shift_left<23>(add_ints(n, splat_int(127)))); }

inline Vec exponential(Vec x) {
  x = smaller(splat(89.0F), larger(splat(-104.0F), x));
  const Ints n = to_ints(x * splat(1.44269504F));
  const Vec whole = to_floats(n);
  // ln 2 in two parts: the first has few enough bits that whole * part is exact.
  Vec r = fma(whole, splat(-0.693359375F), x);
  r = fma(whole, splat(2.12194440e-4F), r);
  Vec p = splat(1.0F / 5040);
  p = fma(p, r, splat(1.0F / 720));
  p = fma(p, r, splat(1.0F / 120));
  p = fma(p, r, splat(1.0F / 24));
  p = fma(p, r, splat(1.0F / 6));
  p = fma(p, r, splat(0.5F));
  p = fma(p, r, splat(1.0F));
  p = fma(p, r, splat(1.0F));
  const Ints half = shift_right<1>(n);
  return p * power_of_two(half) * power_of_two(sub_ints(n, half));
}

}  // namespace
}  // namespace cupel::kernels
