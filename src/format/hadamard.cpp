// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/hadamard.h"

#include <bit>
#include <map>
#include <mutex>

#include "base/error.h"

namespace cupel::format {
namespace {

/// q = prime^degree.
struct PrimePower {
  int prime = 0, degree = 0;
};

std::optional<PrimePower> prime_power(int q) {
  for (int p = 2; p <= q; ++p) {
    if (q % p != 0) continue;
    PrimePower out{p, 0};
    for (; q % p == 0; q /= p) ++out.degree;
    return q == 1 ? std::optional(out) : std::nullopt;
  }
  return std::nullopt;
}

/// The q of Paley's two constructions, if it is a prime power of the right kind.
std::optional<PrimePower> paley_1(int factor) {
  return factor % 4 == 0 ? prime_power(factor - 1) : std::nullopt;
}
std::optional<PrimePower> paley_2(int factor) {
  return factor % 4 == 0 && factor / 2 % 4 == 2 ? prime_power(factor / 2 - 1) : std::nullopt;
}

using Poly = std::vector<int>;  ///< coefficients, constant term first

Poly digits(int number, int base, int count) {
  Poly out;
  for (int i = 0; i < count; ++i, number /= base) out.push_back(number % base);
  return out;
}

int number_of(const Poly& digits, int base) {
  int out = 0;
  for (std::size_t i = digits.size(); i-- > 0;) out = out * base + digits[i];
  return out;
}

/// The remainder of a divided by the monic b, as many digits as b has below its leading one.
Poly remainder(Poly a, const Poly& b, int p) {
  for (std::size_t top = a.size(); top-- >= b.size();) {
    const int lead = a[top];
    const std::size_t shift = top + 1 - b.size();
    for (std::size_t i = 0; i < b.size(); ++i)
      a[shift + i] = (a[shift + i] + (p - lead) * b[i]) % p;
  }
  a.resize(b.size() - 1);
  return a;
}

Poly monic(int number, int p, int degree) {
  Poly out = digits(number, p, degree);
  out.push_back(1);
  return out;
}

int power_of(int base, int exponent) {
  int out = 1;
  for (int i = 0; i < exponent; ++i) out *= base;
  return out;
}

bool irreducible(const Poly& f, int p) {
  const int degree = static_cast<int>(f.size()) - 1;
  for (int d = 1; d <= degree / 2; ++d)
    for (int i = 0; i < power_of(p, d); ++i)
      if (number_of(remainder(f, monic(i, p, d), p), p) == 0) return false;
  return true;
}

Poly modulus_of(PrimePower q) {
  for (int i = 0;; ++i) {
    const Poly f = monic(i, q.prime, q.degree);
    if (irreducible(f, q.prime)) return f;
  }
}

/// The quadratic character of GF(q), by element: 0 for zero, 1 for squares, -1 for the others.
std::vector<int8_t> character(PrimePower field) {
  const int p = field.prime, e = field.degree, q = power_of(p, e);
  const Poly modulus = modulus_of(field);
  std::vector<int8_t> chi(static_cast<std::size_t>(q), int8_t{-1});
  chi[0] = 0;
  for (int x = 1; x < q; ++x) {
    const Poly a = digits(x, p, e);
    Poly square(static_cast<std::size_t>(2 * e), 0);
    for (int i = 0; i < e; ++i)
      for (int j = 0; j < e; ++j) square[i + j] = (square[i + j] + a[i] * a[j]) % p;
    chi[number_of(remainder(square, modulus, p), p)] = 1;
  }
  return chi;
}

/// [[0, 1], [corner, Q]], [q + 1, q + 1].
std::vector<int8_t> bordered_character(PrimePower field, int8_t corner) {
  const int p = field.prime, e = field.degree, q = power_of(p, e), n = q + 1;
  const auto chi = character(field);
  std::vector<int8_t> out(static_cast<std::size_t>(n) * n, int8_t{0});
  for (int a = 0; a < q; ++a) {
    out[a + 1] = 1;
    out[(a + 1) * n] = corner;
    const Poly x = digits(a, p, e);
    for (int b = 0; b < q; ++b) {
      Poly difference = digits(b, p, e);
      for (int i = 0; i < e; ++i) difference[i] = (x[i] - difference[i] + p) % p;
      out[(a + 1) * n + b + 1] = chi[number_of(difference, p)];
    }
  }
  return out;
}

std::vector<int8_t> build(int factor) {
  if (factor == 1) return {1};
  if (const auto q = paley_1(factor)) {
    auto f = bordered_character(*q, -1);
    for (int a = 0; a < factor; ++a) f[a * factor + a] = 1;
    return f;
  }
  const auto q = paley_2(factor);
  CUPEL_ASSERT(q.has_value());
  const int n = factor / 2;
  const auto c = bordered_character(*q, 1);
  std::vector<int8_t> f(static_cast<std::size_t>(factor) * factor);
  for (int a = 0; a < factor; ++a)
    for (int b = 0; b < factor; ++b) {
      const int entry = c[a / 2 * n + b / 2], both = a % 2 * (b % 2);
      const int off = both != 0 ? -1 : 1, on = a % 2 + b % 2 == 0 ? 1 : -1;
      f[a * factor + b] = static_cast<int8_t>(a / 2 == b / 2 ? on : entry * off);
    }
  return f;
}

bool exists(int factor) {
  return factor == 1 || paley_1(factor) || paley_2(factor);
}

}  // namespace

std::optional<HadamardOrder> hadamard_order(int64_t n) {
  if (n < 1) return std::nullopt;
  int64_t power = n & -n;
  for (int64_t factor = n / power; factor <= kLargestHadamardFactor && power >= 1;
       factor *= 2, power /= 2)
    if (exists(static_cast<int>(factor))) return HadamardOrder{static_cast<int>(factor), power};
  return std::nullopt;
}

std::span<const int8_t> hadamard_factor(int factor) {
  static std::mutex mutex;
  static std::map<int, std::vector<int8_t>> built;
  const std::lock_guard lock(mutex);
  const auto found = built.find(factor);
  if (found != built.end()) return found->second;
  CUPEL_ASSERT(factor >= 1 && factor <= kLargestHadamardFactor && exists(factor));
  return built.emplace(factor, build(factor)).first->second;
}

std::vector<int8_t> hadamard_matrix(int64_t n) {
  const auto order = hadamard_order(n);
  CUPEL_ASSERT(order.has_value());
  const auto f = hadamard_factor(order->factor);
  std::vector<int8_t> h(static_cast<std::size_t>(n) * n);
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < n; ++c) {
      const auto shared = static_cast<uint64_t>((r % order->power) & (c % order->power));
      const int8_t entry = f[r / order->power * order->factor + c / order->power];
      h[r * n + c] = std::popcount(shared) % 2 == 0 ? entry : static_cast<int8_t>(-entry);
    }
  return h;
}

}  // namespace cupel::format
