// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "base/rng.h"
#include "core/model.h"

namespace cupel::core {

/// Batched sampling with a KV cache: prompts [n, t] of equal length to [n, t + tokens]. Sequence r
/// draws from rng.child(r); temperature 0 is argmax. No truncation of the distribution. Runs
/// without gradients.
at::Tensor sample(Model& model, const at::Tensor& prompts_nt, int64_t tokens, double temperature,
                  const Rng& rng);

}  // namespace cupel::core
