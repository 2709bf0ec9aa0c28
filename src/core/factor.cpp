// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: what the error of an input costs after those behind it have made up for it.
// Formula: H + damping = F D F^T, F unit upper in tiles of a code's width.
// Source: block LDL of "QuIP: 2-Bit Quantization of Large Language Models with Guarantees".
// Cost: n^3/6 multiplications in float64.
// Differs: no inverse of H; F comes from the Cholesky factor of H read backwards.
//
// Axes: i inputs, p positions, d inputs of a tile.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "core/feedback.h"
#include "core/feedback_kernels.h"
#include "core/parallel.h"

namespace cupel::core {
namespace {

// Entries of F that one thread unfolds at a time.
constexpr int64_t kGrain = 32768;
constexpr int64_t kGatheredRows = 1024;
constexpr double kLargestDamp = 1e3;
// Below this share of the mean diagonal a pivot is noise, and its feedback would be too.
constexpr double kSmallestPivot = 1e-9;

/// The diagonal of inputs that were always zero is replaced by the mean of the others.
struct Moment {
  at::Tensor h_ii;  ///< a sum over tokens; its own diagonal is not read any more
  double tokens = 0;
  std::vector<double> diagonal_i;  ///< per token
  double mean = 0;
  int64_t dead = 0;
};

Moment prepare(const at::Tensor& h_ii, int64_t tokens) {
  Moment m{.h_ii = h_ii, .tokens = static_cast<double>(tokens), .diagonal_i = {}};
  const at::Tensor diagonal_i = (h_ii.diagonal() / m.tokens).cpu().contiguous();
  const double* first = diagonal_i.const_data_ptr<double>();
  m.diagonal_i.assign(first, first + diagonal_i.numel());
  double sum = 0;
  for (const double d : m.diagonal_i) {
    sum += std::max(d, 0.0);
    m.dead += d <= 0;
  }
  if (sum <= 0) return m;
  m.mean = sum / static_cast<double>(diagonal_i.numel() - m.dead);
  if (m.dead == 0) return m;
  // In a semidefinite moment their rows are zero already; in another one they must not matter.
  const at::Tensor alive_i = (h_ii.diagonal() > 0).to(at::kDouble);
  m.h_ii = h_ii * alive_i * alive_i.unsqueeze(1);
  for (double& d : m.diagonal_i) d = d > 0 ? d : m.mean;
  return m;
}

/// Inputs by position. Tiles stay whole; a short last tile stays last, so that positions cut into
/// tiles evenly.
std::vector<int64_t> processing_order(const at::Tensor& energy_i, int64_t tile,
                                      FeedbackOrder order) {
  const int64_t n = energy_i.size(0);
  std::vector<int64_t> tiles(static_cast<std::size_t>((n + tile - 1) / tile));
  std::iota(tiles.begin(), tiles.end(), int64_t{0});
  if (order == FeedbackOrder::activation) {
    const at::Tensor host_i = energy_i.cpu().contiguous();
    std::vector<double> energy(tiles.size());
    for (int64_t i = 0; i < n; ++i) energy[i / tile] += host_i.const_data_ptr<double>()[i];
    std::stable_sort(tiles.begin(), tiles.begin() + n / tile,
                     [&](int64_t a, int64_t b) { return energy[a] > energy[b]; });
  }
  std::vector<int64_t> inputs;
  for (const int64_t t : tiles)
    for (int64_t i = t * tile; i < std::min(n, (t + 1) * tile); ++i) inputs.push_back(i);
  return inputs;
}

/// H per token + damping in reverse order of processing, padded with a diagonal to whole tiles of
/// the factorisation: its lower Cholesky factor, read backwards, is the upper one that runs
/// forward.
at::Tensor reversed(const Moment& moment, const std::vector<int64_t>& inputs, double damp) {
  const at::Tensor& h_ii = moment.h_ii;
  const int64_t n = h_ii.size(0);
  const int64_t padded = h_ii.device().is_cpu() ? kernels::round_up(n, kernels::kCholeskyTile) : n;
  const std::vector<int64_t> backwards(inputs.rbegin(), inputs.rend());
  const at::Tensor index = at::tensor(backwards).to(h_ii.device());
  at::Tensor a = at::zeros({padded, padded}, h_ii.options());
  // In pieces: rows of 14336 inputs would be held twice more, 1.6 GB each time.
  for (int64_t row = 0; row < n; row += kGatheredRows) {
    const int64_t end = std::min(n, row + kGatheredRows);
    a.slice(0, row, end)
        .slice(1, 0, n)
        .copy_(h_ii.index_select(0, index.slice(0, row, end)).index_select(1, index) /
               moment.tokens);
  }
  std::vector<double> diagonal(static_cast<std::size_t>(padded), moment.mean);
  for (int64_t k = 0; k < n; ++k)
    diagonal[k] = moment.diagonal_i[backwards[k]] + damp * moment.mean;
  a.diagonal().copy_(at::tensor(diagonal));
  return a;
}

/// The lower Cholesky factor of a, which it may overwrite, where a lies; undefined if there is
/// none.
at::Tensor lower_factor(at::Tensor a, double smallest_pivot) {
  if (a.device().is_cpu())
    return kernels::cholesky(a.mutable_data_ptr<double>(), a.size(0), smallest_pivot)
               ? a
               : at::Tensor();
  const auto [lower, info] = at::linalg_cholesky_ex(a);
  const bool works = info.item<int>() == 0 && at::isfinite(lower).all().item<bool>() &&
                     lower.diagonal().min().item<double>() >= std::sqrt(smallest_pivot);
  return works ? lower : at::Tensor();
}

/// F and D from the reversed lower factor of tiles of one input, where it lies: R is the factor
/// read backwards, D = diag(R)^2, F = R / diag(R).
void unfold_scalars(const at::Tensor& lower, Factor& factor) {
  const auto n = static_cast<int64_t>(factor.inputs.size());
  const at::Tensor upper = lower.slice(0, 0, n).slice(1, 0, n).flip({0, 1});
  const at::Tensor diagonal = upper.diagonal().clone();
  factor.feedback_pp = (upper / diagonal).to(at::kFloat).contiguous();
  const at::Tensor metric = diagonal.square().cpu();
  factor.metric.assign(metric.const_data_ptr<double>(), metric.const_data_ptr<double>() + n);
}

/// The same on the host, for tiles of any width: R = F (block diagonal of R), D = R_kk R_kk^T.
void unfold(const at::Tensor& lower, int64_t tile, Factor& factor) {
  const auto n = static_cast<int64_t>(factor.inputs.size()), ld = lower.size(1);
  factor.feedback_pp = at::empty({n, n}, at::kFloat);
  float* f = factor.feedback_pp.mutable_data_ptr<float>();
  const double* l = lower.const_data_ptr<double>();
  const auto r = [&](int64_t row, int64_t col) {
    return row > col ? 0.0 : l[(n - 1 - row) * ld + n - 1 - col];
  };
  parallel_for(0, n, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    std::vector<double> x(static_cast<std::size_t>(tile));
    for (int64_t p = begin; p < end; ++p) {
      std::fill(f + p * n, f + p * n + p / tile * tile, 0.0f);
      for (int64_t k = p / tile * tile; k < n; k += tile) {
        const int64_t width = std::min(tile, n - k);
        for (int64_t c = 0; c < width; ++c) {
          double sum = r(p, k + c);
          for (int64_t b = 0; b < c; ++b) sum -= x[b] * r(k + b, k + c);
          x[c] = sum / r(k + c, k + c);
          f[p * n + k + c] = static_cast<float>(x[c]);
        }
      }
    }
  });
  for (int64_t k = 0; k < n; k += tile)
    for (int64_t row = k, end = std::min(n, k + tile); row < end; ++row)
      for (int64_t col = k; col < end; ++col) {
        double sum = 0;
        for (int64_t c = std::max(row, col); c < end; ++c) sum += r(row, c) * r(col, c);
        factor.metric.push_back(sum);
      }
}

}  // namespace

Factor factorise(const at::Tensor& second_moment_ii, int64_t tokens, int tile_cols,
                 const FeedbackOptions& options) {
  const c10::NoGradGuard no_grad;
  Factor factor;
  const auto without = [&](std::string why) {
    factor.failure = std::move(why);
    return factor;
  };
  if (tokens <= 0) return without("no calibration token reached it");
  CUPEL_ASSERT(second_moment_ii.defined());
  const at::Tensor h_ii = second_moment_ii.to(at::kDouble);
  if (!at::isfinite(h_ii).all().item<bool>())
    return without("the second moment of its input holds NaN or infinity");
  const Moment moment = prepare(h_ii, tokens);
  factor.dead = moment.dead;
  if (moment.mean <= 0) return without("its input was zero at every token");
  // Dead inputs come last by their own energy, not by what stands in for it.
  factor.inputs = processing_order(h_ii.diagonal() / moment.tokens, tile_cols, options.order);
  for (factor.damp = options.damp; factor.damp <= kLargestDamp;
       factor.damp = factor.damp > 0 ? 10 * factor.damp : FeedbackOptions().damp) {
    const at::Tensor lower =
        lower_factor(reversed(moment, factor.inputs, factor.damp), kSmallestPivot * moment.mean);
    if (!lower.defined()) continue;
    if (tile_cols == 1 && !lower.device().is_cpu())
      unfold_scalars(lower, factor);
    else  // on a device the factor comes column by column; it is read row by row
      unfold(lower.cpu().contiguous(), tile_cols, factor);
    return factor;
  }
  return without(
      cat("the second moment of its input has no Cholesky factor even at damping ", kLargestDamp));
}

}  // namespace cupel::core
