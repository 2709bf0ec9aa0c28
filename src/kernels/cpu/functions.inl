// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Functions made of the exponential, each one sequence of operations that scalar_math.h repeats. NaN stays NaN.

namespace cupel::kernels {
namespace {

inline Vec magnitude(Vec x) { return from_bits(and_ints(bits_of(x), splat_int(0x7fffffff))); }

inline Vec sigmoid(Vec x) { return splat(1.0F) / (splat(1.0F) + exponential(zeros() - x)); }

inline Vec silu(Vec x) { return x / (splat(1.0F) + exponential(zeros() - x)); }

/// tanh within 2 ulp: x + x^3 P(x^2) below 0.6, (1 - e) / (1 + e) with e = e^(-2 |x|) above.
inline Vec hyperbolic_tangent(Vec x) {
  const Vec y = magnitude(x), square = y * y;
  Vec p = splat(-0.00626911972F);
  p = fma(p, square, splat(0.02111095905F));
  p = fma(p, square, splat(-0.05387394885F));
  p = fma(p, square, splat(0.1333291537F));
  p = fma(p, square, splat(-0.3333333033F));
  const Vec small = fma(y * square, p, y);
  const Vec e = exponential(splat(-2.0F) * y);
  const Vec large = (splat(1.0F) - e) / (splat(1.0F) + e);
  const Ints sign = and_ints(bits_of(x), splat_int(static_cast<int32_t>(0x80000000U)));
  return from_bits(or_ints(bits_of(pick_smaller(y, splat(0.6F), small, large)), sign));
}

/// x (1 + tanh(u)) / 2 is x / (1 + e^(-2u)); 2u = 2 sqrt(2 / pi) (x + 0.044715 x^3).
inline Vec gelu_tanh(Vec x) {
  const Vec u = x * fma(x * x, splat(0.0713548163F), splat(1.59576912F));
  return x / (splat(1.0F) + exponential(zeros() - u));
}

/// x times the normal distribution's share below x. The share beyond |x| is e^(-x^2 / 2) t P(t), t = 1 / (1 + 0.35 |x|);
/// P is fitted to a relative error of 4e-8 for |x| up to 14.5, where the exponential ends.
inline Vec gelu(Vec x) {
  const Vec y = magnitude(x);
  const Vec t = splat(1.0F) / fma(splat(0.35F), y, splat(1.0F));
  Vec p = splat(-0.0297322758F);
  p = fma(p, t, splat(0.146783986F));
  p = fma(p, t, splat(-0.261410543F));
  p = fma(p, t, splat(0.165510165F));
  p = fma(p, t, splat(-0.0273219106F));
  p = fma(p, t, splat(0.107212499F));
  p = fma(p, t, splat(0.119425093F));
  p = fma(p, t, splat(0.139914334F));
  p = fma(p, t, splat(0.139618635F));
  const Vec beyond = x * (exponential(splat(-0.5F) * (y * y)) * (p * t));
  return pick_smaller(x, zeros(), beyond, x - beyond);
}

}  // namespace
}  // namespace cupel::kernels
