// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "base/params.h"
#include "base/registry.h"
#include "base/rng.h"
#include "core/gradients.h"
#include "core/stats.h"
#include "format/layout.h"

namespace cupel::core {

/// Matrices that share their input (q/k/v, gate/up, or one alone): one set of statistics, one
/// factorisation.
struct MatrixGroup {
  std::string id;  ///< names the input: "model.layers.3.self_attn.qkv"
  std::vector<std::string> names;
  std::vector<at::Tensor> weights_oi;  ///< float32 on the device
  /// Per matrix, where the method asked for them; null where calibration never reached it. Owned by
  /// the pipeline.
  std::vector<const GradientStats*> gradients;
  /// How its input is going to be rounded; null: not known, or not at all.
  const Choice* activations = nullptr;
  const GradientStats* gradient(std::size_t m) const {
    return m < gradients.size() ? gradients[m] : nullptr;
  }
};

/// Names a group of matrices by its first one, without ".weight".
std::string group_id(const format::Architecture& arch, const format::WeightId& first);

/// What became of one matrix, for the report.
struct MatrixResult {
  format::WeightCode code;
  /// Not empty: what was left out because the statistics can't be used, and why ("plain rounding:
  /// no calibration token reached it").
  std::string fallback;
  std::string note;  ///< "damping 0.1", ...
};

/// Appends to what the report says of the matrix; nothing for an empty text.
void add_note(MatrixResult& result, const std::string& note);

class Planner;

/// A handle to the decoder block for methods that optimise a whole block
/// (core/pipeline/block_handle.h).
class BlockHandle;

/// A method that decides which codes represent a matrix. Stateless between groups; results depend
/// on the arguments alone. Methods are made from their parameters through Registry<Quantizer>.
class Quantizer {
 public:
  virtual ~Quantizer() = default;
  virtual Needs needs() const = 0;
  /// What it wants to know about the loss: costs a backward pass over the calibration text.
  virtual GradientNeeds gradient_needs() const { return {}; }
  /// One result per matrix, in order. Never gives up a matrix: where the statistics can't be used,
  /// it falls back to plain rounding, its transform to no scaling, and says so. A method with
  /// needs().block is called once per decoder block with a handle; `group` then holds all of its
  /// matrices, in the order of the handle's parts, and `stats` nothing: each part has its own.
  /// Outside decoder blocks (embedding, head) it is called like the others, without a handle.
  virtual std::vector<MatrixResult> quantize(const MatrixGroup& group, const Stats& stats,
                                             BlockHandle* block, const Rng& rng) const = 0;
  /// The layout that it writes; with a planner, one of them.
  virtual std::shared_ptr<const format::Layout> layout() const = 0;
  /// For people, before anything has run: "4-bit g64 asym".
  virtual std::string description() const;
  /// Bits that a [rows, cols] matrix will take, as far as that is known beforehand.
  virtual int64_t expected_bits(int64_t rows, int64_t cols) const;
  /// For methods that decide with the whole model in view; null for all others.
  virtual std::unique_ptr<Planner> planner(const Rng& rng) const;
  /// The method with its plan. Fault::data for text that is no plan of its own.
  virtual std::shared_ptr<const Quantizer> planned(const std::string& plan) const;
};

/// Parameters that all quantizers share; a method's own struct extends it and visits it first.
struct QuantizerParams : Params {
  /// Globs over names of decoder matrices, with commas between them ("*" is all of them, never
  /// embedding or head: name those in full).
  std::string layers = "*";
  Choice layout;
  Choice transform;
  Choice activations;
  QuantizerParams();
  void visit(ParamVisitor& v) override;
};

}  // namespace cupel::core
