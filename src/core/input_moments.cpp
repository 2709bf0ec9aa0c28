// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/input_moments.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "base/error.h"
#include "core/product.h"
#include "core/rounded_input.h"

namespace cupel::core {
namespace {

// Tokens whose products are summed in float32 before they join the float64 sum.
constexpr int64_t kPieceTokens = 1024;

void add_product(at::Tensor& sum_ii, const at::Tensor& a_ti, const at::Tensor& b_ti) {
  const auto options = at::TensorOptions(at::kDouble).device(a_ti.device());
  if (!sum_ii.defined()) sum_ii = at::zeros({a_ti.size(1), b_ti.size(1)}, options);
  sum_ii.add_(product(a_ti.t(), b_ti));
}

}  // namespace

InputPair input_pair(const at::Tensor& own_ti, const at::Tensor& reference_ti,
                     const format::RoundedInput& input) {
  return {round_input(input.rounding, transform_input(input.transform, own_ti)),
          transform_input(input.transform, reference_ti)};
}

void add_moments(const InputPair& pair, InputMoments& m) {
  for (int64_t t = 0; t < pair.z_ti.size(0); t += kPieceTokens) {
    const int64_t end = std::min(t + kPieceTokens, pair.z_ti.size(0));
    const at::Tensor z_ti = pair.z_ti.slice(0, t, end), r_ti = pair.x_ti.slice(0, t, end) - z_ti;
    add_product(m.zz_ii, z_ti, z_ti);
    add_product(m.rz_ii, r_ti, z_ti);
    add_product(m.rr_ii, r_ti, r_ti);
    m.tokens += end - t;
  }
}

InputMoments input_moments(const Stats& stats, const format::RoundedInput& input,
                           Reference reference, at::Device device) {
  const auto& references = reference == Reference::own ? stats.inputs : stats.original_inputs;
  CUPEL_ASSERT(!stats.inputs.empty() && references.size() == stats.inputs.size());
  InputMoments m;
  for (std::size_t n = 0; n < stats.inputs.size(); ++n)
    add_moments(input_pair(stats.inputs[n].to(device), references[n].to(device), input), m);
  return m;
}

at::Tensor regression_shift(const at::Tensor& rz_ii, const at::Tensor& zz_ii, double damp) {
  const at::Tensor diagonal_i = zz_ii.diagonal();
  const double alive = std::max(1.0, (diagonal_i > 0).sum().to(at::kDouble).item<double>());
  const double mean = diagonal_i.sum().item<double>() / alive;
  at::Tensor damped_ii = zz_ii.clone();
  // Without any damping a singular H has no inverse; this much changes no other.
  damped_ii.diagonal().add_(std::max(damp, 1e-10) * mean);
  return at::linalg_solve(damped_ii, rz_ii.t()).t();
}

}  // namespace cupel::core
