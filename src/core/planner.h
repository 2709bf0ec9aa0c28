// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>

#include "core/quantizer.h"

namespace cupel::core {

/// Mean KL divergence, in nats a token, of the model with some matrices replaced (by canonical
/// name) from itself, on calibration samples
/// that no moment of the inputs saw (gradients, where asked for, are those of all samples).
using ModelProbe = std::function<double(const std::map<std::string, at::Tensor>& replaced)>;

/// Looks at the whole model before the first matrix is quantized. The pipeline hands it each group
/// with the statistics of the original model, in the order of the forward pass, then asks for a
/// plan: text that Quantizer::planned() understands, kept in the run folder.
class Planner {
 public:
  virtual ~Planner() = default;
  virtual void add(const MatrixGroup& group, const Stats& stats) = 0;
  virtual std::string finish(const ModelProbe& probe) = 0;
};

}  // namespace cupel::core
