// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/rounded_input.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/transform.h"
#include "format/hadamard.h"

namespace cupel::core {
namespace {

using format::InputRounding;
using format::InputTransform;

template <class T>
at::Tensor row_of(const std::vector<T>& values, const at::Tensor& like) {
  return at::tensor(at::ArrayRef<T>(values)).to(like.device(), at::kFloat);
}

enum class Side { forward, transposed };

/// The factor's matrix over the runs of each block, terms in the order of the definition.
at::Tensor multiply_factor(const at::Tensor& y, const format::HadamardOrder& order, Side side) {
  const auto f = format::hadamard_factor(order.factor);
  const at::Tensor runs = y.reshape({-1, order.factor, order.power});
  std::vector<at::Tensor> out;
  for (int64_t a = 0; a < order.factor; ++a) {
    at::Tensor sum = at::zeros({runs.size(0), order.power}, y.options());
    for (int64_t b = 0; b < order.factor; ++b) {
      const auto at = static_cast<std::size_t>(side == Side::forward ? a * order.factor + b
                                                                     : b * order.factor + a);
      sum.add_(runs.select(1, b), f[at]);
    }
    out.push_back(sum);
  }
  return at::stack(out, 1).reshape(y.sizes());
}

at::Tensor hadamard(const at::Tensor& x, int block, Side side) {
  const auto order = format::hadamard_order(block);
  CUPEL_ASSERT(order.has_value());
  at::Tensor y = hadamard_runs(x, order->power);
  if (order->factor > 1) y = multiply_factor(y, *order, side);
  return y * static_cast<float>(1 / std::sqrt(static_cast<double>(block)));
}

at::Tensor undo_input(const InputTransform& t, at::Tensor x) {
  if (t.hadamard > 0) x = hadamard(x, t.hadamard, Side::transposed);
  if (!t.signs.empty()) x = x * row_of(t.signs, x);
  return t.scale.empty() ? x : x / row_of(t.scale, x);
}

/// Q of groups [.., i] with scales s [.., 1] or [], zero where `s` is.
at::Tensor to_levels(const InputRounding& r, const at::Tensor& x, const at::Tensor& s) {
  const double most = format::largest_level(r);
  const at::Tensor v = (x / s).clamp(-most, most);
  const at::Tensor q = r.numbers == InputRounding::Numbers::e4m3
                           ? v.to(at::kFloat8_e4m3fn).to(at::kFloat)
                           : v.round();
  return at::where(s == 0, at::zeros({}, x.options()), q * s + (x - x));
}

at::Tensor to_levels_per_group(const InputRounding& r, const at::Tensor& x) {
  const at::Tensor largest = x.abs().amax(-1, /*keepdim=*/true);
  // On a GPU a division by a host number would be a multiplication by its reciprocal.
  const at::Tensor most = at::tensor(format::largest_level(r)).to(x.device());
  const at::Tensor s =
      at::where(largest < format::kTinyGroup, at::zeros({}, x.options()), largest * r.clip / most);
  return to_levels(r, x, s);
}

/// `f` of the groups [.., groups, i] of tensors [.., i]; a short last group has a call of its own.
template <class F>
at::Tensor by_groups(const InputRounding& r, const std::vector<at::Tensor>& of, const F& f) {
  const int64_t width = of[0].size(-1), group = std::min(r.group_width(width), width);
  const int64_t whole = width / group * group;
  std::vector<at::Tensor> heads, tails;
  for (const at::Tensor& t : of) {
    heads.push_back(t.slice(-1, 0, whole).reshape({-1, whole / group, group}));
    tails.push_back(t.slice(-1, whole));
  }
  const at::Tensor y = f(heads).reshape(of[0].slice(-1, 0, whole).sizes());
  return whole == width ? y : at::cat({y, f(tails)}, -1);
}

at::Tensor round_values(const InputRounding& r, const at::Tensor& x) {
  if (!r.dynamic()) return to_levels(r, x, at::tensor(r.scale).to(x.device()));
  return by_groups(r, {x}, [&](const auto& t) { return to_levels_per_group(r, t[0]); });
}

/// Largest magnitudes that still round to a level, with room for the rounding of x / s.
at::Tensor unclipped(const InputRounding& r, const at::Tensor& ratio) {
  return (ratio.abs() <= (1 + 1e-5) * format::largest_level(r)).to(at::kFloat);
}

at::Tensor gradient_per_group(const InputRounding& r, const at::Tensor& x, const at::Tensor& z,
                              const at::Tensor& g) {
  const at::Tensor largest = x.abs().amax(-1, /*keepdim=*/true);
  const double share = r.clip / format::largest_level(r);
  const at::Tensor none = largest < format::kTinyGroup;
  const at::Tensor s = at::where(none, at::ones({}, x.options()), largest * share);
  const at::Tensor ratio = x / s, inside = unclipped(r, ratio);
  const at::Tensor by_scale = (g * (z / s - ratio * inside)).sum(-1, /*keepdim=*/true);
  const at::Tensor by_x = g * inside + (x.abs() == largest) * x.sign() * by_scale * share;
  return at::where(none, at::zeros({}, x.options()), by_x);
}

}  // namespace

at::Tensor transform_input(const InputTransform& t, const at::Tensor& x) {
  at::Tensor y = x.to(at::kFloat);
  if (!t.scale.empty()) y = y * row_of(t.scale, y);
  if (!t.signs.empty()) y = y * row_of(t.signs, y);
  return t.hadamard > 0 ? hadamard(y, t.hadamard, Side::forward) : y;
}

at::Tensor round_input(const InputRounding& rounding, const at::Tensor& x) {
  if (rounding.none()) return x;
  const at::Tensor q = round_values(rounding, x.detach().to(at::kFloat)).to(x.scalar_type());
  return x.requires_grad() ? x + (q - x).detach() : q;
}

at::Tensor rounding_gradient(const InputRounding& r, const at::Tensor& x, const at::Tensor& z,
                             const at::Tensor& gradient) {
  if (r.none()) return gradient;
  if (!r.dynamic()) return gradient * unclipped(r, x / r.scale);
  return by_groups(r, {x, z, gradient},
                   [&](const auto& t) { return gradient_per_group(r, t[0], t[1], t[2]); });
}

at::Tensor rounded(const format::RoundedInput& input, const at::Tensor& x) {
  const at::Tensor y = round_input(input.rounding, transform_input(input.transform, x));
  return undo_input(input.transform, y).to(x.scalar_type());
}

bool same_input(const format::RoundedInput& a, const format::RoundedInput& b) {
  // The name of a transform is made of its content.
  return &a == &b || (a.transform.id == b.transform.id && a.rounding == b.rounding);
}

}  // namespace cupel::core
