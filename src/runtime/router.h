// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/model_config.h"
#include "kernels/cpu.h"

namespace cupel::runtime {

/// One expert of a token, and what its output is multiplied by.
struct Choice {
  int64_t expert = 0;
  float weight = 0;
};

/// Chooses the experts of one token; of equal scores the lower index wins. Not thread-safe.
class Router {
 public:
  Router(const format::Experts& experts, const kernels::CpuKernels& cpu)
      : experts_(experts), cpu_(cpu) {}
  /// `logits` are the router's outputs, bias included, one per expert; they must be finite and are
  /// overwritten. `correction` is added for the choice alone; may be empty. `chosen`:
  /// experts.active of them, in the order of their indices.
  void choose(std::span<float> logits, std::span<const float> correction, std::span<Choice> chosen);

 private:
  void mask_groups(std::span<float> scores);

  const format::Experts& experts_;
  const kernels::CpuKernels& cpu_;
  std::vector<float> scores_, group_scores_, weights_;
  std::vector<int64_t> order_, group_order_;
};

}  // namespace cupel::runtime
