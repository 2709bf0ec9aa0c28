// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cupel::format {

// Hadamard matrices of orders that are no power of two. What is stored depends on their entries, so
// they are fixed: the one of order n = factor * power is the Kronecker product of the factor's
// matrix and Sylvester's of the power,
//   H[a m + i][b m + j] = F[a][b] (-1)^popcount(i & j), m = power.
//
// F is 1 for factor 1. Otherwise, with q a power of an odd prime and chi the quadratic character of
// GF(q), Q[a][b] = chi(a - b):
//   Paley I,  factor = q + 1,   q = 3 mod 4:  F = I + [[0, 1], [-1, Q]]: F - I is skew;
//   Paley II, factor = 2(q+1),  q = 1 mod 4:  F = C x [[1, 1], [1, -1]] + I x [[1, -1], [-1, -1]]
//     with C = [[0, 1], [1, Q]]: F is symmetric.
// Paley I is taken where both exist. Elements of GF(p^e) are numbered by their coefficients as
// digits of base p (constant term first), modulo the first irreducible monic polynomial in the same
// numbering. Source: R. E. A. C. Paley, "On Orthogonal Matrices", 1933.

/// The largest factor that is built: its matrix is applied in full, factor additions a number.
constexpr int kLargestHadamardFactor = 1024;

struct HadamardOrder {
  int factor = 1;     ///< 1, or four or more times an odd number
  int64_t power = 1;  ///< a power of two
};

/// n as a product, by the smallest factor that there is; nothing where there is none (n < 1, odd
/// n > 1, 92, 116, 156, 172, 184, 188, ...).
std::optional<HadamardOrder> hadamard_order(int64_t n);

/// F of a factor as hadamard_order() gives it, +1 and -1, row major: F F^T = factor I. Built once,
/// kept for the life of the program; thread-safe. Fault::internal for other numbers.
std::span<const int8_t> hadamard_factor(int factor);

/// H of order n in full, row major; Fault::internal where hadamard_order(n) is empty.
std::vector<int8_t> hadamard_matrix(int64_t n);

}  // namespace cupel::format
