// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "core/model.h"

namespace cupel::core {

// Axes: t tokens, o outputs, i inputs, q groups of outputs.

/// What a method wants to know about the gradient of the loss at the output of each matrix.
struct GradientNeeds {
  bool fisher = false;         ///< of each weight
  bool output_moment = false;  ///< of the outputs
  int groups = 0;              ///< groups of outputs whose tokens are weighed apart; 0: none
  bool any() const { return fisher || output_moment || groups > 0; }
  GradientNeeds operator|(const GradientNeeds& o) const {
    return {fisher || o.fisher, output_moment || o.output_moment,
            groups > o.groups ? groups : o.groups};
  }
};

/// What came back for one matrix, on the host. The loss is the sum of -log p over the tokens of a
/// sequence, each label drawn from the model itself (so squares estimate the Fisher information).
struct GradientStats {
  int64_t tokens = 0, sequences = 0;
  at::Tensor fisher_oi;         ///< sum over sequences of (dL/dW)^2, float32
  at::Tensor gradient_oi;       ///< sum over sequences of dL/dW, float32 (with fisher)
  at::Tensor output_moment_oo;  ///< sum over tokens of g g^T, g = dL/dy, float64
  at::Tensor saliency_tq;  ///< mean of g^2 over the outputs of a group, float32, tokens in order
  at::Tensor guided_qii;   ///< sum over tokens of saliency_tq x x^T, float64; the pipeline adds it
  bool finite() const;
};

/// Statistics of every matrix of the decoder by its canonical name.
using Gradients = std::map<std::string, GradientStats>;

/// Runs each sequence forward, keeping the input of every block, and backward block by block:
/// memory is that of one block's activations and of the statistics asked for. Source: the metrics
/// of "GuidedQuant", "YAQA" and SqueezeLLM share this one pass. Fault::data names a layer whose
/// gradient is not finite.
Gradients collect_gradients(Model& model, const std::vector<std::vector<int32_t>>& sequences,
                            const GradientNeeds& needs, const Rng& rng);

/// A label for each row of logits, drawn from their distribution: [t, 1].
at::Tensor drawn_labels(const at::Tensor& logits_tv, Rng rng);

/// The weights of error of each weight by its Fisher information, float32 [o, i], scaled to a mean
/// of 1.
at::Tensor fisher_weights(const GradientStats& stats);

}  // namespace cupel::core
