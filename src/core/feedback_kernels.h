// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/vector_clones.h"
#include "core/parallel.h"

/// Loops of the feedback engine on raw pointers. Sums run in one order, whatever the vector width
/// and the number of threads (a BLAS promises neither), so equal input gives equal codes.
namespace cupel::core::kernels {

inline int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

/// One factor of a product: element (row, k) is at data[row * row_stride + k * k_stride].
template <class T>
struct Strided {
  const T* data;
  std::ptrdiff_t row_stride, k_stride;
};

/// Widths of products are multiples of this: 64 bytes of the narrowest type.
constexpr int64_t kWidthStep = 16;

/// c[row][0, width) += sum_k a(row, k) b[k][0, width); width in steps of 64 bytes.
template <class T>
[[gnu::always_inline]] inline void add_product_body(T* c, int64_t ldc, Strided<T> a, const T* b,
                                                    int64_t ldb, int64_t rows, int64_t depth,
                                                    int64_t width) {
  // 32 bytes: gcc splits wider vectors than the machine has through memory. 4 rows x 2 vectors fill
  // 16 registers.
  using Vector [[gnu::vector_size(32), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  constexpr int64_t kLanes = 32 / sizeof(T), kRows = 4;
  for (int64_t x = 0; x < width; x += 2 * kLanes) {
    int64_t row = 0;
    for (; row + kRows <= rows; row += kRows) {
      Vector sums[kRows][2] = {};
      const T* p = a.data + row * a.row_stride;
      for (int64_t k = 0; k < depth; ++k, p += a.k_stride) {
        const auto* v = reinterpret_cast<const Vector*>(b + k * ldb + x);
        const Vector v0 = v[0], v1 = v[1];
        for (int64_t r = 0; r < kRows; ++r) {
          sums[r][0] += v0 * p[r * a.row_stride];
          sums[r][1] += v1 * p[r * a.row_stride];
        }
      }
      for (int64_t r = 0; r < kRows; ++r) {
        auto* out = reinterpret_cast<Vector*>(c + (row + r) * ldc + x);
        out[0] += sums[r][0];
        out[1] += sums[r][1];
      }
    }
    for (; row < rows; ++row) {
      Vector sums[2] = {};
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t h = 0; h < 2; ++h)
          sums[h] += reinterpret_cast<const Vector*>(b + k * ldb + x)[h] *
                     a.data[row * a.row_stride + k * a.k_stride];
      for (int64_t h = 0; h < 2; ++h) reinterpret_cast<Vector*>(c + row * ldc + x)[h] += sums[h];
    }
  }
}

CUPEL_VECTOR_CLONES
inline void add_product(float* c, int64_t ldc, Strided<float> a, const float* b, int64_t ldb,
                        int64_t rows, int64_t depth, int64_t width) {
  add_product_body(c, ldc, a, b, ldb, rows, depth, width);
}
CUPEL_VECTOR_CLONES
inline void add_product(double* c, int64_t ldc, Strided<double> a, const double* b, int64_t ldb,
                        int64_t rows, int64_t depth, int64_t width) {
  add_product_body(c, ldc, a, b, ldb, rows, depth, width);
}

constexpr int64_t kCholeskyTile = 64;
// Fewer tiles than this below the diagonal are done in less time than it takes to wake threads.
constexpr int64_t kTilesWorthThreads = 8;

/// Lower Cholesky factor of one tile, in place.
inline bool cholesky_tile(double* a, int64_t n, double smallest_pivot) {
  for (int64_t c = 0; c < kCholeskyTile; ++c) {
    for (int64_t k = 0; k < c; ++k)
      for (int64_t r = c; r < kCholeskyTile; ++r) a[r * n + c] -= a[r * n + k] * a[c * n + k];
    const double pivot = a[c * n + c];
    if (!(pivot >= smallest_pivot) || !std::isfinite(pivot)) return false;
    const double root = std::sqrt(pivot);
    for (int64_t r = c; r < kCholeskyTile; ++r) a[r * n + c] /= root;
  }
  return true;
}

/// Rows [row, row + 64) of the factor left of the diagonal: x L^T = a. Keeps -x^T in `minus`
/// [64][n].
CUPEL_VECTOR_CLONES
inline void cholesky_rows(double* a, int64_t n, int64_t row, int64_t col, double* minus) {
  const double* diagonal = a + col * n + col;
  for (int64_t c = 0; c < kCholeskyTile; ++c) {
    double* x = minus + c * n + row;
    for (int64_t r = 0; r < kCholeskyTile; ++r) x[r] = -a[(row + r) * n + col + c];
    for (int64_t k = 0; k < c; ++k) {
      const double* y = minus + k * n + row;
      const double l = diagonal[c * n + k];
      for (int64_t r = 0; r < kCholeskyTile; ++r) x[r] -= y[r] * l;
    }
    for (int64_t r = 0; r < kCholeskyTile; ++r) {
      x[r] /= diagonal[c * n + c];
      a[(row + r) * n + col + c] = -x[r];
    }
  }
}

/// Lower Cholesky factor in place of a symmetric [n, n] of which the lower half is read; n is a
/// multiple of 64. False when a pivot is below `smallest_pivot` or not a number. The upper half is
/// left as garbage.
inline bool cholesky(double* a, int64_t n, double smallest_pivot) {
  constexpr int64_t kTile = kCholeskyTile;
  const int64_t tiles = n / kTile;
  std::vector<double> minus(static_cast<std::size_t>(kTile * n));
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t col = t * kTile, below = tiles - t - 1;
    const int64_t grain = below < kTilesWorthThreads ? kTilesWorthThreads : 1;
    if (!cholesky_tile(a + col * n + col, n, smallest_pivot)) return false;
    core::parallel_for(0, below, grain, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u)
        cholesky_rows(a, n, col + (u + 1) * kTile, col, minus.data());
    });
    const auto update = [&](int64_t u) {
      const int64_t row = col + (u + 1) * kTile;
      add_product(a + row * n + col + kTile, n, {a + row * n + col, n, 1},
                  minus.data() + col + kTile, n, kTile, kTile, (u + 1) * kTile);
    };
    // Row u costs u: first and last go together, so that threads get equal work.
    core::parallel_for(0, (below + 1) / 2, grain, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        update(u);
        if (below - 1 - u != u) update(below - 1 - u);
      }
    });
  }
  return true;
}

}  // namespace cupel::core::kernels
