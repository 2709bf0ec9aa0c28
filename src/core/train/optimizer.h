// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "base/params.h"

namespace cupel::core::train {

struct AdamWParams : Params {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  double clip = 1.0;  ///< of the global gradient norm; 0 is none
  int64_t warmup = 20;
  double final_share = 0.1;  ///< of lr at the end of the cosine
  void visit(ParamVisitor& v) override;
};

/// Learning rate of `step` (from 0) of `steps`: linear warm-up, then half a cosine down to
/// final_share.
double learning_rate(const AdamWParams& params, int64_t step, int64_t steps);

/// Decoupled weight decay (Loshchilov and Hutter, 2019), float32 moments; vectors (norms) are not
/// decayed. The update is a fixed sequence of elementwise operations, so that a resumed run gives
/// the same bits.
class AdamW {
 public:
  AdamW(const AdamWParams& params, std::vector<std::pair<std::string, at::Tensor>> weights);
  /// Applies the gradients in the weights and clears them. Returns the gradient norm before
  /// clipping. Fault::data if it is not finite.
  double step(double lr);
  /// Moments under "m/<name>", "v/<name>", the float32 copies "w/<name>" of weights of half types,
  /// and the count of steps "steps": all that a checkpoint needs beside the weights.
  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  AdamWParams params_;
  std::vector<std::pair<std::string, at::Tensor>> weights_;
  std::vector<at::Tensor> first_, second_;
  /// What is updated: the weight itself, or its float32 copy (small updates vanish in half types).
  std::vector<at::Tensor> master_;
  int64_t steps_ = 0;

  double gradient_norm() const;
  void update(std::size_t index, double lr, double gradient_scale);
};

}  // namespace cupel::core::train
