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

// Axes: t tokens, o outputs, i inputs, q groups of outputs, r signed sums of tokens.

/// What a method wants to know about the gradient of the loss at the output of each matrix.
struct GradientNeeds {
  bool fisher = false;         ///< of each weight
  bool output_moment = false;  ///< of the outputs
  int groups = 0;              ///< groups of outputs whose tokens are weighed apart; 0: none
  int sketch = 0;              ///< signed sums of all tokens that are kept of both sides; 0: none
  bool any() const { return fisher || output_moment || groups > 0 || sketch > 0; }
  GradientNeeds operator|(const GradientNeeds& o) const {
    return {fisher || o.fisher, output_moment || o.output_moment,
            groups > o.groups ? groups : o.groups, sketch > o.sketch ? sketch : o.sketch};
  }
};

/// What came back for one matrix, on the host. The loss is the sum of -log p over the tokens of a
/// sequence, each label drawn from the model itself (so squares estimate the Fisher information).
struct GradientStats {
  int64_t tokens = 0, sequences = 0;
  int64_t text_tokens = 0;      ///< of all sequences; an expert sees fewer
  at::Tensor fisher_oi;         ///< sum over sequences of (dL/dW)^2, float32
  at::Tensor gradient_oi;       ///< sum over sequences of dL/dW, float32 (with fisher)
  at::Tensor output_moment_oo;  ///< sum over tokens of g g^T, g = dL/dy, float64
  at::Tensor saliency_tq;  ///< mean of g^2 over the outputs of a group, float32, tokens in order
  at::Tensor guided_qii;   ///< sum over tokens of saliency_tq x x^T, float64; the pipeline adds it
  /// S x and S' g, float32: S and S' hold a random sign for each sum and token, the same for all
  /// matrices that see the token (core/cross_layer.h). On the host.
  at::Tensor input_sketch_ri, gradient_sketch_ro;
  double input_energy = 0, gradient_energy = 0;  ///< sums over tokens of |x|^2, |g|^2 (with sketch)
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

/// +-1 for each of `width` sums and each token, float32 [r, t]: bits of the stream `rng`.
at::Tensor token_signs(int64_t width, int64_t tokens, Rng rng);

/// The weights of error of each weight by its Fisher information, float32 [o, i], scaled to a mean
/// of 1.
at::Tensor fisher_weights(const GradientStats& stats);

}  // namespace cupel::core
