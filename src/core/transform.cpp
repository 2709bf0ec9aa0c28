// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: random signs, then blocks of the Hadamard matrix: outliers spread over their block.
// Formula: T = H_b S, W' = W S H_b, H' = T H T^T; H_b its own inverse, S = diag(+-1).
// Source: "QuIP#: Even Better LLM Quantization with Hadamard Incoherence and Lattice Codebooks".
// Cost: log2(b) additions per weight, 2 log2(b) per entry of H.
// Differs: on the input side only, in blocks: any width with a power of two in it will do.
#include "core/transform.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <span>

#include "base/error.h"
#include "base/hash.h"

namespace cupel::core {
namespace {

struct NoParams : Params {
  void visit(ParamVisitor&) override {}
};

/// The largest power of two up to `wanted` that divides `inputs`; 0 if that is 1.
int fitting_block(int wanted, int64_t inputs) {
  const int block = static_cast<int>(std::gcd(int64_t{wanted}, inputs));
  return block > 1 ? block : 0;
}

/// Rows of x [.., i], float64, times the block Hadamard matrix. Additions in a fixed order: the
/// same bits everywhere.
at::Tensor hadamard(const at::Tensor& x, int block) {
  at::Tensor y = x;
  for (int half = 1; half < block; half *= 2) {
    const at::Tensor pairs = y.reshape({-1, 2, half});
    const at::Tensor a = pairs.select(1, 0), b = pairs.select(1, 1);
    y = at::stack({a + b, a - b}, 1);
  }
  return y.reshape(x.sizes()) / std::sqrt(static_cast<double>(block));
}

template <class T>
at::Tensor row_of(const std::vector<T>& values, const at::Tensor& like) {
  return at::tensor(at::ArrayRef<T>(values)).to(like.device(), at::kDouble);
}

/// x [.., i] in float64 times signs, then Hadamard: the orthonormal part of T, its own inverse
/// transpose.
at::Tensor rotate(const format::InputTransform& t, at::Tensor x) {
  if (!t.signs.empty()) x = x * row_of(t.signs, x);
  return t.hadamard > 0 ? hadamard(x, t.hadamard) : x;
}

void check_width(const format::InputTransform& t, int64_t inputs) {
  const auto fits = [&](std::size_t n) { return n == 0 || n == static_cast<std::size_t>(inputs); };
  CUPEL_ASSERT(fits(t.scale.size()) && fits(t.signs.size()));
  CUPEL_ASSERT(t.hadamard == 0 || inputs % t.hadamard == 0);
}

}  // namespace

void HadamardParams::visit(ParamVisitor& v) {
  v.field("block", block,
          "inputs that are mixed: a power of two, halved until it divides the width")
      .in(2, 4096);
  v.check(std::has_single_bit(static_cast<unsigned>(block)), "block must be a power of two");
}

const std::vector<Alternative>& transform_alternatives() {
  static const std::vector<Alternative> list = {
      {"none", "the inputs as they are", [] { return std::make_shared<NoParams>(); }},
      {"hadamard", "random signs, then a Hadamard transform of each block of inputs",
       [] { return std::make_shared<HadamardParams>(); }},
  };
  return list;
}

format::InputTransform make_transform(const Choice& choice, std::string_view group, int64_t inputs,
                                      const Rng& rng) {
  format::InputTransform t;
  if (choice.name != "hadamard") return t;
  t.hadamard = fitting_block(choice.as<HadamardParams>().block, inputs);
  if (t.hadamard == 0) return t;
  Rng coin = rng.child(cat("signs of ", group));
  t.signs.resize(static_cast<std::size_t>(inputs));
  for (int8_t& sign : t.signs) sign = (coin.next_u32() >> 31) != 0 ? int8_t{-1} : int8_t{1};
  // The checksum keeps the ids of different signs apart, should a model ever hold two of one group.
  t.id = cat(group, ".hadamard", t.hadamard, "-", crc32c(std::as_bytes(std::span(t.signs))));
  return t;
}

std::string transform_note(const Choice& choice, const format::InputTransform& transform,
                           int64_t inputs) {
  if (choice.name != "hadamard") return {};
  const int wanted = choice.as<HadamardParams>().block;
  if (wanted == transform.hadamard) return {};
  const std::string reason = cat(" (", wanted, " does not divide ", inputs, " inputs)");
  return transform.hadamard == 0 ? cat("no hadamard", reason)
                                 : cat("hadamard block ", transform.hadamard, reason);
}

at::Tensor transform_weight(const format::InputTransform& transform, const at::Tensor& w_oi) {
  if (transform.identity()) return w_oi.to(at::kFloat);
  check_width(transform, w_oi.size(1));
  at::Tensor w = w_oi.to(at::kDouble);
  if (!transform.scale.empty()) w = w / row_of(transform.scale, w);
  return rotate(transform, w).to(at::kFloat);
}

at::Tensor transform_second_moment(const format::InputTransform& transform,
                                   const at::Tensor& h_ii) {
  at::Tensor h = h_ii.to(at::kDouble);
  if (transform.identity()) return h;
  check_width(transform, h.size(0));
  for (int side = 0; side < 2; ++side) {
    if (!transform.scale.empty()) h = h * row_of(transform.scale, h);
    h = rotate(transform, h).t().contiguous();
  }
  return h;
}

}  // namespace cupel::core
