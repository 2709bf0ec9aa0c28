// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Idea: random signs, then blocks of a Hadamard matrix: outliers spread over their block.
// Formula: T = H_b S D, W' = W D^-1 S H_b^T, H' = T H T^T; S = diag(+-1), D from `before`.
// Source: "QuIP#: Even Better LLM Quantization with Hadamard Incoherence and Lattice Codebooks".
// Cost: b = f 2^p: p + f additions per weight (f = 1 for powers of two), twice per entry of H.
// Differs: on the input side only, in blocks; orders by Paley's constructions instead of a table.
#include <numeric>

#include "base/error.h"
#include "core/feedback.h"
#include "core/transforms/list.h"
#include "core/transforms/scaling.h"
#include "format/hadamard.h"

namespace cupel::core {
namespace {

bool has_matrix(int64_t block) {
  return block > 1 && format::hadamard_order(block).has_value();
}

/// `wanted`, halved until it divides the inputs and has a matrix; else the largest power of two in
/// both; 0 if that is 1.
int fitting_block(int64_t wanted, int64_t inputs) {
  for (int64_t block = wanted; block > 1; block /= 2) {
    if (inputs % block == 0 && has_matrix(block)) return static_cast<int>(block);
    if (block % 2 != 0) break;
  }
  const int64_t block = std::gcd(wanted & -wanted, inputs);
  return block > 1 ? static_cast<int>(block) : 0;
}

/// 0 wants all inputs, and where those have no matrix the largest power of two that divides them.
int block_for(int wanted, int64_t inputs) {
  if (wanted != 0) return fitting_block(wanted, inputs);
  if (has_matrix(inputs)) return static_cast<int>(inputs);
  const int64_t block = inputs & -inputs;
  return block > 1 ? static_cast<int>(block) : 0;
}

std::string note_of(int wanted, int block, int64_t inputs) {
  if (block == (wanted == 0 ? inputs : wanted)) return {};
  const std::string reason = wanted == 0
                                 ? cat(" (no Hadamard matrix of order ", inputs, " is known)")
                                 : cat(" (", wanted, " does not divide ", inputs, " inputs)");
  return block == 0 ? cat("no hadamard", reason) : cat("hadamard block ", block, reason);
}

class Hadamard : public Transform {
 public:
  explicit Hadamard(const HadamardParams& params)
      : block_(params.block), before_(make_transform(params.before)) {}

  Needs needs() const override { return before_->needs(); }

  MadeTransform make(const TransformSource& source) const override {
    const int64_t inputs = inputs_of(source.group);
    const int block = block_for(block_, inputs);
    std::vector<int8_t> signs;
    Rng coin = source.rng.child(cat("signs of ", source.group.id));
    for (int64_t i = 0; block > 0 && i < inputs; ++i)
      signs.push_back((coin.next_u32() >> 31) != 0 ? int8_t{-1} : int8_t{1});
    const auto rotated = [&](format::InputTransform t) {
      t.hadamard = block;
      t.signs = signs;
      return t;
    };
    MadeTransform made =
        before_->make({.group = source.group,
                       .stats = source.stats,
                       .rng = source.rng,
                       .loss = [&](const auto& t) { return source.loss(rotated(t)); }});
    made.transform = named(rotated(std::move(made.transform)), source.group.id);
    const std::string note = note_of(block_, block, inputs);
    made.note += (made.note.empty() || note.empty() ? "" : ", ") + note;
    return made;
  }

 private:
  int block_;
  std::unique_ptr<const Transform> before_;
};

}  // namespace

HadamardParams::HadamardParams() : before(scaling_alternatives(), "none") {}

void HadamardParams::visit(ParamVisitor& v) {
  v.field("block", block,
          "inputs that are mixed: a power of two, alone or times 12, 20, 28, ...; halved until it "
          "divides the width; 0 is the whole width")
      .in(0, 65536);
  v.field("before", before, "scaling of the inputs before they are mixed");
  v.check(block == 0 || has_matrix(block),
          "block must be 0 or an order of which a Hadamard matrix is known");
}

std::unique_ptr<const Transform> make_hadamard(const HadamardParams& params) {
  return std::make_unique<Hadamard>(params);
}

}  // namespace cupel::core
